/* No code: what a library made of this is good for are the libraries that it needs. */
typedef int nothing;
