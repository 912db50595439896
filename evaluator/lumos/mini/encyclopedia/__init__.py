"""Questions of two and three hops over the chronicles of small towns."""
