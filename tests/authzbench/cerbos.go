package main

import (
	"context"
	"encoding/json"
	"net/http"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// cerbos is the Cerbos PDP with its mutable store, which takes changes by the Admin API. The
// bindings of a user are the principal policy of the user, those of a group are rules of the
// resource policies, where the groups of a request are its roles. It has no list of who can do
// something; namespaces are those that the condition of its PlanResources API accepts.
type cerbos struct {
	server
	world *world
	facts nested // policy, resource or group, verb, namespace or "" for all, name of a binding
}

func newCerbos(bin string) *cerbos {
	c := &cerbos{facts: make(nested), server: newServer("cerbos", filepath.Join(bin, "cerbos"))}
	c.header.Set("Authorization", "Basic Y2VyYm9zOmNlcmJvc0FkbWlu") // its default
	c.decision = func(q *question) (string, any) {
		resource := nested{"kind": q.Resource, "id": "x", "attr": nested{"namespace": q.Namespace}}
		return "/api/check/resources", nested{"principal": cerbosPrincipal(q), "resources": []any{nested{"actions": []string{q.Verb}, "resource": resource}}}
	}
	c.allowed = allowedAt("EFFECT_ALLOW", "results", "actions", "*")
	return c
}

func cerbosPrincipal(q *question) any {
	return nested{"id": q.User, "roles": append([]string{"everybody"}, q.Groups...)}
}

func (c *cerbos) start(ctx context.Context, w *world, dir string) error {
	c.world = w
	address := freeAddress()
	if err := c.launch(ctx, dir, address, "/_cerbos/health", "server", "--log-level", "error", "--set", "server.httpListenAddr="+address,
		"--set", "server.grpcListenAddr="+freeAddress(), "--set", "server.adminAPI.enabled=true", "--set", "telemetry.disabled=true",
		"--set", "storage.driver=sqlite3", "--set", "storage.sqlite3.dsn=file::memory:?cache=shared"); err != nil {
		return err
	}
	return c.save(ctx, w.Bindings, true)
}

func (c *cerbos) change(b *binding, bound bool) error {
	return c.save(context.Background(), []binding{*b}, bound)
}

// save writes bindings to the facts, sends the policies that are changed, at most 100 in a
// request, and removes those without rules.
func (c *cerbos) save(ctx context.Context, bindings []binding, bound bool) error {
	changed := make(nested)
	for i, b := range bindings {
		for pair := range c.world.role(b.Role).pairs() {
			path := []string{"principal/" + b.User, pair[1], pair[0], b.Namespace, bindings[i].Name}
			if b.Group != "" {
				path[0], path[1] = "resource/"+pair[1], b.Group
			}
			if changed[path[0]] = true; bound {
				c.facts.set(true, path...)
			} else {
				c.facts.drop(path...)
			}
		}
	}
	var policies []json.RawMessage
	for key := range changed {
		kind, name, _ := strings.Cut(key, "/")
		if len(c.facts.at(key)) == 0 {
			if err := c.call(http.MethodPost, "/admin/policy/delete?id="+kind+"."+strings.ReplaceAll(name, "-", "_")+".vdefault", "", nil); err != nil {
				return err
			}
			continue
		}
		policy, err := yaml.YAMLToJSON([]byte(render("cerbos.yaml", nested{"Kind": kind, "Name": name, "Rules": c.facts.at(key)})))
		if err != nil {
			return err
		}
		policies = append(policies, policy)
	}
	for batch := range slices.Chunk(policies, 100) {
		if err := c.callWithin(ctx, "/admin/policy", nested{"policies": batch}); err != nil {
			return err
		}
	}
	return nil
}

func (c *cerbos) namespaces(q *question) (list []string, err error) {
	var answer struct{ Filter plan }
	body := nested{"actions": []string{q.Verb}, "principal": cerbosPrincipal(q), "resource": nested{"kind": q.Resource}}
	err = c.call(http.MethodPost, "/api/plan/resources", body, &answer)
	return slices.DeleteFunc(slices.Clone(c.world.Namespaces), func(n string) bool { return !answer.Filter.accepts(n) }), err
}
