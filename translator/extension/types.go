package extension

import (
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// MaxType is how many parts the type of a value in Rego may have. OPA's compiler infers
// types, and compares them part by part: [a, a], where a is such a pair itself, and so on,
// has as many parts as two to the power of its depth, and the compiler never ends.
const MaxType = 100_000

// LargeTypeHint is the hint of diagnostics about such a type.
const LargeTypeHint = "a value that contains another value twice, which does so itself, has a type that doubles each time"

// LargeType returns the rule of a variable or a value whose type may have more than
// MaxType parts; nil if no rule has. The modules are compiled together. The number of
// parts is an upper bound: a function has arguments of any type for the compiler.
func LargeType(modules ...*ast.Module) *ast.Rule {
	t := &typeSizes{rules: make(map[string][]*ast.Rule), sizes: make(map[string]int)}
	for _, module := range modules {
		for _, rule := range module.Rules {
			path := nameOf(rule)
			t.rules[path] = append(t.rules[path], rule)
		}
	}
	for _, module := range modules {
		for _, rule := range module.Rules {
			for r := rule; r != nil; r = r.Else {
				if t.isLarge(r) {
					return rule
				}
			}
		}
	}
	return nil
}

// nameOf is the path of a rule: its package and the part of its head that is constant.
func nameOf(rule *ast.Rule) string {
	return rule.Module.Package.Path.String() + "." + rule.Head.Ref()[0].Value.String()
}

// typeSizes is the numbers of parts of types, by rule.
type typeSizes struct {
	rules map[string][]*ast.Rule
	sizes map[string]int // of rules; 1 while they are computed
}

// add adds two numbers of parts, up to one above MaxType.
func add(a, b int) int { return min(a+b, MaxType+1) }

func (t *typeSizes) isLarge(rule *ast.Rule) bool {
	s := newTypeScope(t, rule)
	if s.ofRule() > MaxType {
		return true
	}
	for name := range s.bound {
		if s.ofVar(name) > MaxType {
			return true
		}
	}
	return false
}

// ofPath is the size of the type of what a path refers to: the rule of which it is a
// part, or all rules below it.
func (t *typeSizes) ofPath(path string) int {
	size := 1
	for name := range t.rules {
		if name == path || strings.HasPrefix(path, name+".") || strings.HasPrefix(path, name+"[") || strings.HasPrefix(name, path+".") {
			size = add(size, t.ofRules(name))
		}
	}
	return size
}

// ofRules is the size of the type of the rules of one name.
func (t *typeSizes) ofRules(name string) int {
	if size, known := t.sizes[name]; known {
		return size
	}
	t.sizes[name] = 1 // recursion is an error of its own
	size := 1
	for _, rule := range t.rules[name] {
		for r := rule; r != nil; r = r.Else {
			size = add(size, newTypeScope(t, r).ofRule())
		}
	}
	t.sizes[name] = size
	return size
}

// typeScope is the variables of one rule. A variable that several bodies have is taken
// for one, which can only make its type larger.
type typeScope struct {
	*typeSizes
	rule  *ast.Rule
	bound map[ast.Var][]*ast.Term // what each variable is compared with, or part of
	sizes map[ast.Var]int
}

func newTypeScope(t *typeSizes, rule *ast.Rule) *typeScope {
	s := &typeScope{typeSizes: t, rule: rule, bound: make(map[ast.Var][]*ast.Term), sizes: make(map[ast.Var]int)}
	visit := func(x any) bool {
		switch x := x.(type) {
		case *ast.Expr:
			s.bindExpr(x)
		case *ast.Every:
			s.bind(x.Key, x.Domain)
			s.bind(x.Value, x.Domain)
		case *ast.Term:
			if ref, ok := x.Value.(ast.Ref); ok {
				for _, part := range ref[1:] {
					s.bind(part, ast.NewTerm(ref[:1]))
				}
			}
		case *ast.Rule:
			return x != rule // an else has variables of its own
		}
		return false
	}
	ast.NewGenericVisitor(visit).Walk(rule)
	return s
}

func (s *typeScope) bindExpr(e *ast.Expr) {
	if some, ok := e.Terms.(*ast.SomeDecl); ok {
		for _, symbol := range some.Symbols {
			if call, ok := symbol.Value.(ast.Call); ok {
				for _, element := range call[1 : len(call)-1] {
					s.bind(element, call[len(call)-1])
				}
			}
		}
		return
	}
	if !e.IsCall() {
		return
	}
	operands := e.Operands()
	if (e.IsEquality() || e.IsAssignment()) && len(operands) == 2 {
		s.unify(operands[0], operands[1])
		return
	}
	for _, operand := range operands { // the last may be where the result goes
		s.bind(operand, ast.NewTerm(e.Operator()))
	}
}

// unify binds the variables of two terms that are equal: those of arrays by element.
func (s *typeScope) unify(a, b *ast.Term) {
	left, ok1 := a.Value.(*ast.Array)
	right, ok2 := b.Value.(*ast.Array)
	if ok1 && ok2 && left.Len() == right.Len() {
		for i := range left.Len() {
			s.unify(left.Elem(i), right.Elem(i))
		}
		return
	}
	s.bind(a, b)
	s.bind(b, a)
}

// bind records that the variables of a pattern have the type of a value, or a part of it.
func (s *typeScope) bind(pattern, value *ast.Term) {
	if pattern == nil {
		return
	}
	ast.WalkVars(pattern, func(v ast.Var) bool {
		s.bound[v] = append(s.bound[v], value)
		return false
	})
}

// ofRule is the size of the type of the rule's own value.
func (s *typeScope) ofRule() int {
	size := 1
	for _, term := range s.rule.Head.Ref()[1:] {
		size = add(size, s.ofTerm(term))
	}
	for _, term := range []*ast.Term{s.rule.Head.Key, s.rule.Head.Value} {
		if term != nil {
			size = add(size, s.ofTerm(term))
		}
	}
	return size
}

func (s *typeScope) ofVar(v ast.Var) int {
	if size, known := s.sizes[v]; known {
		return size
	}
	s.sizes[v] = 1 // a variable that is compared with itself
	size := 1
	for _, term := range s.bound[v] {
		if size = add(size, s.ofTerm(term)); size > MaxType {
			break
		}
	}
	s.sizes[v] = size
	return size
}

func (s *typeScope) ofTerm(term *ast.Term) int {
	size := 1
	switch value := term.Value.(type) {
	case ast.Var:
		if name := s.rule.Module.Package.Path.String() + "." + string(value); s.rules[name] != nil {
			size = s.ofRules(name)
		}
		return add(size, s.ofVar(value)) // a rule's name that is compared looks like a variable
	case ast.Ref:
		if head, ok := value[0].Value.(ast.Var); ok && !value.HasPrefix(ast.DefaultRootRef) {
			return s.ofTerm(ast.NewTerm(head))
		}
		return s.ofPath(value.String())
	case *ast.Array:
		value.Foreach(func(element *ast.Term) { size = add(size, s.ofTerm(element)) })
	case ast.Set:
		value.Foreach(func(element *ast.Term) { size = add(size, s.ofTerm(element)) })
	case ast.Object:
		value.Foreach(func(key, member *ast.Term) { size = add(add(size, s.ofTerm(key)), s.ofTerm(member)) })
	case *ast.ArrayComprehension:
		return add(size, s.ofTerm(value.Term))
	case *ast.SetComprehension:
		return add(size, s.ofTerm(value.Term))
	case *ast.ObjectComprehension:
		return add(s.ofTerm(value.Key), s.ofTerm(value.Value))
	case ast.Call:
		return s.ofTerm(value[0])
	}
	return size
}

// Limits on what OPA's compiler needs more than linear time for: it orders the expressions
// of a body in the third power of their number, and reads the links of an else chain in the
// second.
const (
	maxBody  = 200 // expressions and calls of a body
	maxElse  = 100 // links of an else chain
	maxOrder = 4 * maxBody * maxBody * maxBody
)

// checkLengths returns an error for a module that takes long to compile; nil for others.
func checkLengths(module *ast.Module) *ast.Error {
	var found *ast.Error
	fail := func(at *ast.Location, format string, args ...any) {
		if found == nil {
			found = ast.NewError(ast.CompileErr, at, format, args...)
		}
	}
	order := 0 // the sum of the third powers of all bodies
	ast.WalkBodies(module, func(body ast.Body) bool {
		n := lengthOf(body)
		if n > maxBody {
			fail(body.Loc(), "a body of %d expressions and calls: must be at most %d", n, maxBody)
		} else if order += n * n * n; order > maxOrder {
			fail(body.Loc(), "the bodies up to here have too many expressions together")
		}
		return found != nil
	})
	for _, rule := range module.Rules {
		links := 0
		for r := rule.Else; r != nil; r = r.Else {
			links++
		}
		if links > maxElse {
			fail(rule.Loc(), "an else chain of %d links: must be at most %d", links, maxElse)
		}
	}
	return found
}

// lengthOf is the number of expressions of a body and of the calls in them, which become
// expressions. Bodies within it count for themselves.
func lengthOf(body ast.Body) int {
	n := len(body)
	for _, expression := range body {
		ast.NewGenericVisitor(func(x any) bool {
			switch x.(type) {
			case ast.Body:
				return true
			case ast.Call:
				n++
			}
			return false
		}).Walk(expression)
	}
	return n
}
