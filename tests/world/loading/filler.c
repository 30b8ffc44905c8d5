__thread char room[ROOM] __attribute__((tls_model("initial-exec"))) = {1}; char* get(void) { return room; }
