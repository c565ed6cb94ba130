package main

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
)

// floor is a Go map of what is given: less cannot be done for a decision.
type floor struct {
	library
	world *world
	given map[[4]string]int // subject, namespace, verb, resource: by how many bindings
}

func (*floor) about() about { return described("map", "") }

func (f *floor) start(_ context.Context, w *world, _ string) error {
	f.world, f.given = w, make(map[[4]string]int)
	return eachBinding(w, f)
}

func (f *floor) decide(q *question) (bool, error) {
	for _, namespace := range []string{q.Namespace, ""} {
		if f.given[[4]string{"user:" + q.User, namespace, q.Verb, q.Resource}] > 0 {
			return true, nil
		}
		for _, group := range q.Groups {
			if f.given[[4]string{"group:" + group, namespace, q.Verb, q.Resource}] > 0 {
				return true, nil
			}
		}
	}
	return false, nil
}

func (f *floor) change(b *binding, bound bool) error {
	for pair := range f.world.role(b.Role).pairs() {
		key := [4]string{b.subject(), b.Namespace, pair[0], pair[1]}
		if bound {
			f.given[key]++
		} else {
			f.given[key]--
		}
	}
	return nil
}

// floorServer is the floor behind net/http, in this program as a process of its own.
type floorServer struct{ server }

func newFloorServer() *floorServer {
	f := &floorServer{newServer("http", "")}
	f.decision = func(q *question) (string, any) { return "/decide", q }
	f.allowed = allowedAt(true, "allowed")
	return f
}

func (f *floorServer) start(ctx context.Context, w *world, dir string) error {
	text, err := json.Marshal(w)
	if err != nil {
		return err
	}
	address := freeAddress()
	file, err := writeFile(dir, "world.json", text)
	if err != nil {
		return err
	}
	if f.program, err = os.Executable(); err != nil {
		return err
	}
	return f.launch(ctx, dir, address, "/", "-floor", address, "-world", file)
}

func (f *floorServer) change(b *binding, bound bool) error {
	return f.call(http.MethodPost, "/change", map[string]any{"binding": b, "bound": bound}, nil)
}

// serveFloor serves a floor until the process ends. Questions and changes do not overlap.
func serveFloor(address, file string) error {
	var w world
	var f floor
	if err := readYAML(file, &w); err != nil {
		return err
	}
	if err := f.start(context.Background(), &w, ""); err != nil {
		return err
	}
	http.HandleFunc("GET /", func(http.ResponseWriter, *http.Request) {})
	http.HandleFunc("POST /decide", func(w http.ResponseWriter, r *http.Request) {
		var q question
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		allowed, _ := f.decide(&q)
		_ = json.NewEncoder(w).Encode(map[string]bool{"allowed": allowed})
	})
	http.HandleFunc("POST /change", func(w http.ResponseWriter, r *http.Request) {
		var c struct {
			Binding binding
			Bound   bool
		}
		if err := json.NewDecoder(r.Body).Decode(&c); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		_ = f.change(&c.Binding, c.Bound)
	})
	return http.ListenAndServe(address, nil)
}
