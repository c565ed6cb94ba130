package main

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
)

// opa is `opa run --server` with a policy of roles and bindings. Its documentation on
// performance advises objects that are looked up by key, and a store that is optimized for
// reading: bindings are kept by subject and by namespace.
type opa struct {
	server
	world *world
}

func newOPA(bin string) *opa {
	o := &opa{server: newServer("opa", filepath.Join(bin, "opa"))}
	o.decision = func(q *question) (string, any) { return "/v1/data/authz/allow", nested{"input": q} }
	o.allowed = allowedAt(true, "result")
	return o
}

func (o *opa) start(ctx context.Context, w *world, dir string) error {
	o.world = w
	data := make(nested)
	for i := range w.Roles {
		for pair := range w.Roles[i].pairs() {
			data.set(true, "roles", w.Roles[i].Name, pair[0], pair[1])
		}
	}
	for i := range w.Bindings {
		for _, path := range opaPaths(&w.Bindings[i]) {
			data.set(w.Bindings[i].Role, path...)
		}
	}
	text, err := json.Marshal(data)
	if err != nil {
		return err
	}
	for name, content := range map[string][]byte{"authz.rego": []byte(w.model("opa.rego")), "data.json": text} {
		if _, err := writeFile(dir, name, content); err != nil {
			return err
		}
	}
	address := freeAddress()
	return o.launch(ctx, dir, address, "/health", "run", "--server", "--addr", address, "--log-level", "error",
		"--skip-version-check", "--optimize-store-for-read-speed", "authz.rego", "data.json")
}

// opaPaths are the places of a binding in the data.
func opaPaths(b *binding) [][]string {
	if b.Namespace == "" {
		return [][]string{{"cluster", b.subject(), b.Name}}
	}
	return [][]string{{"scopes", b.Namespace, b.subject(), b.Name}, {"bound", b.subject(), b.Namespace, b.Name}}
}

func (o *opa) change(b *binding, bound bool) error {
	method := http.MethodDelete
	if bound {
		method = http.MethodPut
	}
	for _, path := range opaPaths(b) {
		at := "/v1/data/" + strings.Join(mapped(path, url.PathEscape), "/")
		if err := o.call(method, at, json.RawMessage(`"`+b.Role+`"`), nil); err != nil {
			return err
		}
	}
	return nil
}

func (o *opa) who(q *question) ([]string, error) {
	var answer struct{ Result []string }
	err := o.call(http.MethodPost, "/v1/data/authz/who", nested{"input": q}, &answer)
	return o.world.usersOf(split(answer.Result)), err
}

func (o *opa) namespaces(q *question) ([]string, error) {
	var answer struct{ Result []string }
	err := o.call(http.MethodPost, "/v1/data/authz/namespaces", nested{"input": q}, &answer)
	if slices.Contains(answer.Result, "*") {
		return o.world.Namespaces, err
	}
	return answer.Result, err
}
