package main

import (
	"context"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// openFGA is OpenFGA on SQLite in a file: its memory store reads all tuples for each question.
// Its documentation for production advises the cache of checks, whose answers are up to 10
// seconds old, and the cache controller, which invalidates them. A list ends after 3 seconds by
// default; here it is not bounded in number, as it must be complete.
type openFGA struct {
	server
	store, model string
}

func newOpenFGA(bin string) *openFGA {
	o := &openFGA{server: newServer("openfga", filepath.Join(bin, "openfga"))}
	o.allowed = allowedAt(true, "allowed")
	o.decision = func(q *question) (string, any) {
		body := nested{"authorization_model_id": o.model, "tuple_key": nested{
			"user": "user:" + q.User, "relation": q.Verb + "_" + q.Resource, "object": "namespace:" + q.Namespace,
		}}
		if q.Fresh {
			body["consistency"] = "HIGHER_CONSISTENCY"
		}
		return o.store + "/check", body
	}
	return o
}

func (o *openFGA) start(ctx context.Context, w *world, dir string) error {
	database := []string{"--datastore-engine", "sqlite", "--datastore-uri", "file:" + filepath.Join(dir, "openfga.db")}
	if text, err := exec.CommandContext(ctx, o.program, append(database, "migrate")...).CombinedOutput(); err != nil {
		return fmt.Errorf("migrate: %w: %s", err, text)
	}
	address := freeAddress()
	if err := o.launch(ctx, dir, address, "/healthz", append(database, "run", "--http-addr", address, "--grpc-addr", freeAddress(), "--metrics-enabled=false",
		"--log-level", "error", "--check-query-cache-enabled", "--cache-controller-enabled", "--listObjects-max-results", "0", "--listUsers-max-results", "0")...); err != nil {
		return err
	}
	var answer struct {
		ID    string
		Model string `json:"authorization_model_id"`
	}
	if err := o.call(http.MethodPost, "/stores", nested{"name": "bench"}, &answer); err != nil {
		return err
	}
	o.store = "/stores/" + answer.ID
	if err := o.call(http.MethodPost, o.store+"/authorization-models", w.model("openfga.json"), &answer); err != nil {
		return err
	}
	o.model = answer.Model
	for batch := range slices.Chunk(w.tuples(), 100) {
		if err := o.callWithin(ctx, o.store+"/write", nested{"writes": nested{"tuple_keys": openFGATuples(batch)}}); err != nil {
			return err
		}
	}
	return nil
}

func openFGATuples(list []tuple) []any {
	return mapped(list, func(t tuple) any { return nested{"user": t.User, "relation": t.Relation, "object": t.Object} })
}

func (o *openFGA) change(b *binding, bound bool) error {
	kind := "deletes"
	if bound {
		kind = "writes"
	}
	return o.call(http.MethodPost, o.store+"/write", nested{kind: nested{"tuple_keys": openFGATuples(b.tuples())}}, nil)
}

func (o *openFGA) who(q *question) ([]string, error) {
	var answer struct {
		Users []struct{ Object struct{ ID string } }
	}
	err := o.call(http.MethodPost, o.store+"/list-users", nested{
		"authorization_model_id": o.model, "object": nested{"type": "namespace", "id": q.Namespace}, "relation": q.Verb + "_" + q.Resource, "user_filters": []any{nested{"type": "user"}},
	}, &answer)
	return mapped(answer.Users, func(u struct{ Object struct{ ID string } }) string { return u.Object.ID }), err
}

func (o *openFGA) namespaces(q *question) ([]string, error) {
	var answer struct{ Objects []string }
	err := o.call(http.MethodPost, o.store+"/list-objects", nested{
		"authorization_model_id": o.model, "type": "namespace", "relation": q.Verb + "_" + q.Resource, "user": "user:" + q.User,
	}, &answer)
	return mapped(answer.Objects, func(n string) string { return strings.TrimPrefix(n, "namespace:") }), err
}
