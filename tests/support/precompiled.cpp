// Holds the headers that tests share where they are precompiled (tests/CMakeLists.txt).
int main() { return 0; }
