package main

import (
	"context"
	"net/http"
	"net/url"
	"path/filepath"

	"github.com/writ-policy/writ"
)

// writServer is `writ serve` with its defaults, which reads Kubernetes' documents from a folder
// and reads changed files again. Groups are those of the request.
type writServer struct {
	server
	world *world
	dir   string
}

func newWrit(bin string) *writServer {
	s := &writServer{server: newServer("writ", filepath.Join(bin, "writ"))}
	s.decision = func(q *question) (string, any) {
		return "/v1/decisions/access", nested{"user": q.User, "groups": q.Groups, "verb": q.Verb, "resource": q.Resource, "namespace": q.Namespace}
	}
	s.allowed = allowedAt(true, "allowed")
	return s
}

func (s *writServer) start(ctx context.Context, w *world, dir string) error {
	s.world, s.dir = w, filepath.Join(dir, "policies")
	if err := writeDocuments(w, s.dir); err != nil {
		return err
	}
	address := freeAddress()
	return s.launch(ctx, dir, address, "/readyz", "serve", "--policies", s.dir, "--listen", address, "--log-level", "error")
}

func (s *writServer) who(q *question) ([]string, error) {
	var answer struct{ Users, Groups []string }
	request := map[string]any{"verb": q.Verb, "resource": q.Resource, "namespace": q.Namespace}
	if err := s.call(http.MethodPost, "/v1/who-can", map[string]any{"request": request}, &answer); err != nil {
		return nil, err
	}
	return s.world.usersOf(answer.Users, answer.Groups), nil
}

// namespaces asks for the list of those that documents name; a condition states whether others
// are like them.
func (s *writServer) namespaces(q *question) ([]string, error) {
	var answer struct {
		Items  []struct{ Namespace string }
		Others struct{ Kind string }
	}
	query := url.Values{"verb": {q.Verb}, "user": {q.User}, "group": q.Groups}
	if err := s.call(http.MethodGet, "/v1/lists/"+q.Resource+"?"+query.Encode(), "", &answer); err != nil {
		return nil, err
	}
	if answer.Others.Kind == "always" {
		return s.world.Namespaces, nil
	}
	var list []string
	for _, item := range answer.Items {
		list = append(list, item.Namespace)
	}
	return list, nil
}

func (s *writServer) change(b *binding, bound bool) error { return changeDocument(s.dir, b, bound) }

// writLibrary is package writ, which follows the same folder.
type writLibrary struct {
	library
	policies *writ.Policies
	dir      string
}

func (*writLibrary) about() about { return described("package", "") }

func (l *writLibrary) start(ctx context.Context, w *world, dir string) (err error) {
	l.dir = filepath.Join(dir, "policies")
	if err := writeDocuments(w, l.dir); err != nil {
		return err
	}
	l.policies, err = writ.Follow(context.WithoutCancel(ctx), l.dir, writ.Options{})
	return err
}

func (l *writLibrary) decide(q *question) (bool, error) {
	decision, err := l.policies.Access(context.Background(), &writ.AccessRequest{
		User: q.User, Groups: q.Groups, Verb: q.Verb, Resource: q.Resource, Namespace: q.Namespace,
	})
	return decision.Allowed, err
}

func (l *writLibrary) change(b *binding, bound bool) error { return changeDocument(l.dir, b, bound) }

func (l *writLibrary) close() {
	if l.policies != nil {
		_ = l.policies.Close()
	}
}
