package rego

import "sync"

// compiling is held while Rego is compiled.
var compiling sync.Mutex

// Compile runs f, which compiles Rego, while nothing else in the process does:
// OPA 1.22's type checker writes to types that all compilers share, which the
// race detector reports of two at once. It must not be nested.
func Compile(f func()) {
	compiling.Lock()
	defer compiling.Unlock()
	f()
}
