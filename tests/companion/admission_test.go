package companion

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"github.com/writ-policy/writ/analysis/companion"
)

var identifier = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)

// reserved are the words of CEL that name no variable.
var reserved = strings.Fields("true false null in as break const continue else for function if import let loop package namespace return var void while")

// admission evaluates the policies of a companion as an API server does.
type admission struct {
	conditions, variables, validations []program
}

type program struct {
	name, text string
	cel.Program
}

func newAdmission(t *testing.T, c *companion.Companion) *admission {
	t.Helper()
	env, err := cel.NewEnv(cel.Variable("request", cel.DynType), cel.Variable("object", cel.DynType), cel.Variable("oldObject", cel.DynType),
		cel.Variable("namespaceObject", cel.DynType), cel.Variable("variables", cel.MapType(cel.StringType, cel.DynType)))
	if err != nil {
		t.Fatal(err)
	}
	compile := func(name, text, shown string) program {
		ast, issues := env.Compile(text)
		if issues.Err() != nil {
			t.Fatalf("%s: %v\n%s", name, issues.Err(), text)
		}
		p, err := env.Program(ast)
		if err != nil {
			t.Fatal(err)
		}
		return program{name, shown, p}
	}
	a := &admission{}
	for i, s := range c.Slices {
		if i == 0 {
			for _, n := range s.Policy.MatchConditions {
				a.conditions = append(a.conditions, compile(n.Name, n.Expression, n.Expression))
			}
			for _, n := range s.Policy.Variables {
				if !identifier.MatchString(n.Name) || slices.Contains(reserved, n.Name) {
					t.Errorf("an API server refuses a variable %q", n.Name)
				}
				a.variables = append(a.variables, compile(n.Name, n.Expression, n.Expression))
			}
		}
		for _, v := range s.Policy.Validations {
			a.validations = append(a.validations, compile(v.Message, v.Expression, v.Expression))
		}
	}
	return a
}

// refuses returns the messages of the validations that refuse a write. An expression that fails
// refuses.
func (a *admission) refuses(w *write) (messages []string) {
	variables := map[string]any{}
	in := map[string]any{"request": w.request(), "object": w.after, "oldObject": w.before, "namespaceObject": w.namespaceObject(), "variables": variables}
	if w.after == nil {
		in["object"] = types.NullValue
	}
	if w.before == nil {
		in["oldObject"] = types.NullValue
	}
	holds := func(p program) bool {
		out, _, err := p.Eval(in)
		if err != nil {
			messages = append(messages, fmt.Sprintf("%s fails: %v", p.name, err))
			return true
		}
		return out == ref.Val(types.True)
	}
	for _, p := range a.conditions {
		if !holds(p) {
			return nil
		}
	}
	for _, p := range a.variables {
		out, _, err := p.Eval(in)
		if err == nil {
			variables[p.name] = out
		}
	}
	for _, p := range a.validations {
		if !holds(p) {
			messages = append(messages, p.name+"\n    "+p.text)
		}
	}
	return messages
}

// write is a write with the whole object, as admission sees it.
type write struct {
	user                                 string
	groups                               []string
	verb, group, resource, sub, in, name string
	before, after                        map[string]any // nil: none
	namespaceLabels                      map[string]any
}

func (w *write) operation() string {
	switch w.verb {
	case "create":
		return "CREATE"
	case "update", "patch":
		return "UPDATE"
	}
	return "DELETE"
}

// request is the AdmissionRequest: members that are empty are left out.
func (w *write) request() map[string]any {
	out := map[string]any{
		"operation": w.operation(), "resource": map[string]any{"group": w.group, "version": "v1", "resource": w.resource},
		"userInfo": map[string]any{"username": w.user},
	}
	for key, value := range map[string]string{"subResource": w.sub, "namespace": w.in, "name": w.name} {
		if value != "" {
			out[key] = value
		}
	}
	if len(w.groups) > 0 {
		groups := make([]any, len(w.groups))
		for i, g := range w.groups {
			groups[i] = g
		}
		out["userInfo"].(map[string]any)["groups"] = groups
	}
	return out
}

func (w *write) namespaceObject() any {
	if w.in == "" {
		return types.NullValue
	}
	return map[string]any{"metadata": map[string]any{"name": w.in, "labels": w.namespaceLabels}}
}

// versions are the objects for which a decision must allow the write.
func (w *write) versions() (out []map[string]any) {
	for _, o := range []map[string]any{w.before, w.after} {
		if o != nil {
			out = append(out, o)
		}
	}
	return out
}

// changed returns the paths at which the object differs: maps key by key, an absent map as an
// empty one, everything else as one value.
func (w *write) changed() []string {
	ignored := map[string]bool{"apiVersion": true, "kind": true}
	for _, key := range []string{"name", "namespace", "generateName", "uid", "resourceVersion", "generation", "creationTimestamp", "selfLink", "managedFields"} {
		ignored["metadata."+key] = true
	}
	if w.verb == "create" && (w.resource == "pods" || w.resource == "namespaces") {
		ignored["status"] = true
	}
	out := []string{}
	var walk func(path string, a, b any)
	walk = func(path string, a, b any) {
		if ignored[path] {
			return
		}
		x, isX := a.(map[string]any)
		y, isY := b.(map[string]any)
		if (isX || a == nil) && (isY || b == nil) {
			seen := map[string]bool{}
			for _, m := range []map[string]any{x, y} {
				for key := range m {
					if !seen[key] {
						seen[key] = true
						next := key
						if path != "" {
							next = path + "." + key
						}
						walk(next, x[key], y[key])
					}
				}
			}
			return
		}
		if !reflect.DeepEqual(a, b) {
			out = append(out, path)
		}
	}
	walk("", w.after, w.before)
	return out
}
