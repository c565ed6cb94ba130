// Package bounds bounds the arguments of OPA's built-in functions, which the evaluator
// cannot interrupt: what a function reads and writes stays within bytes and steps that
// take no more than seconds. Importing the package replaces the functions that package
// rego/builtin calls bounded.
//
// # Design
//
// A text or list grows by built-in functions alone, so bounding their results bounds the
// arguments of all others. A value may hold another many times without a copy, so its
// size counts each occurrence, and counting stops at the bound.
//
// The functions are OPA's own, for the whole process. They are bounded only in an
// evaluation whose topdown.Cancel is a budget, so that another use of OPA in the same
// process is not affected. Arithmetic alone is bounded for all: it takes no context.
package bounds

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"

	"github.com/writ-policy/writ/rego/builtin"
)

const (
	// maxResult bounds one result, and what one function reads, in bytes.
	maxResult = 16 << 20
	// maxSteps bounds the steps of one function: about a second.
	maxSteps = 200_000_000
	// maxDigits bounds the digits and the decimal exponent of numbers. Sums and products
	// of the largest numbers that a request may hold, with three digits of exponent, are
	// within it.
	maxDigits = 2000
	// maxKeyBytes bounds keys, certificates, and documents in YAML.
	maxKeyBytes = 16 << 10
)

// budget is a topdown.Cancel of an evaluation with bounds.
type budget interface {
	topdown.Cancel
	// Charge counts the bytes of a result. It returns an error if the evaluation has
	// used its memory.
	Charge(bytes int) error
}

// cost is what a call may come to: bytes of its result, and steps. Infinity stands for
// more than any bound.
type cost struct{ bytes, steps float64 }

var tooMuch = cost{bytes: math.Inf(1)}

// costs has a function for each bounded built-in function, which returns the cost of a
// call.
var costs = map[string]func(args []*ast.Term) cost{}

func register(f func(args []*ast.Term) cost, names ...string) {
	for _, name := range names {
		costs[name] = f
	}
}

func init() {
	registerCosts()
	for _, name := range builtin.BoundedNames() {
		original := topdown.GetBuiltin(name)
		if costs[name] == nil || original == nil {
			panic("no bound for the built-in function " + name)
		}
		bounded := bound(name, original, costs[name])
		if slices.Contains(arithmetic, name) {
			bounded = boundDigits(name, original)
		} else {
			ast.BuiltinMap[name].CanSkipBctx = false // the budget is in the context
		}
		topdown.RegisterBuiltinFunc(name, bounded)
	}
}

// errArguments is why an evaluation ends whose function has arguments beyond its bound.
var errArguments = errors.New("arguments are beyond the bound of the built-in function")

// bound returns a function that ends the evaluation if a call costs too much.
func bound(name string, original topdown.BuiltinFunc, costOf func([]*ast.Term) cost) topdown.BuiltinFunc {
	arity := ast.BuiltinMap[name].Decl.Arity()
	return func(b topdown.BuiltinContext, args []*ast.Term, iter func(*ast.Term) error) error {
		charged, ok := b.Cancel.(budget)
		if !ok {
			return original(b, args, iter)
		}
		c := costOf(args[:arity])                           // the result may follow
		if !(c.bytes <= maxResult && c.steps <= maxSteps) { // NaN is beyond, too
			return halt(b, name, errArguments)
		}
		if err := charged.Charge(int(c.bytes)); err != nil {
			return halt(b, name, err)
		}
		return original(b, args, iter)
	}
}

// boundDigits bounds arithmetic in every evaluation of the process: making the context
// that has the budget would take longer than the operation.
func boundDigits(name string, original topdown.BuiltinFunc) topdown.BuiltinFunc {
	return func(b topdown.BuiltinContext, args []*ast.Term, iter func(*ast.Term) error) error {
		if c := numbers(args); c.bytes > 0 {
			return halt(b, name, errArguments)
		}
		return original(b, args, iter)
	}
}

// halt ends an evaluation, also where an error of a function would be undefined.
func halt(b topdown.BuiltinContext, name string, err error) error {
	return topdown.Halt{Err: &topdown.Error{
		Code: topdown.BuiltinErr, Message: fmt.Sprintf("%s, %s", name, err), Location: b.Location,
	}}
}
