package rego

import (
	"errors"
	"sync"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
)

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

// Errors returns OPA's errors in err, nil if err is another error.
func Errors(err error) ast.Errors {
	if errs, ok := errors.AsType[ast.Errors](err); ok {
		return errs
	}
	if one, ok := errors.AsType[*ast.Error](err); ok {
		return ast.Errors{one}
	}
	return nil
}

// wallClock returns a clock of the time that passes.
func wallClock() func() time.Duration {
	began := time.Now()
	return func() time.Duration { return time.Since(began) }
}
