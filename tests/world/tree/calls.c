extern void dgemm_(void);
int main(int argc, char** argv) {
  if (argc > 1000) dgemm_();
  return 0;
}
