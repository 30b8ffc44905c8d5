// threads.cpp as a program of its own.
int threads_main(int, char**);
int main(int count, char** arguments) { return threads_main(count, arguments); }
