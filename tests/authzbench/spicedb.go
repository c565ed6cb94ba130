package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
)

// spiceDB is SpiceDB with its memory datastore: others are servers of databases. Questions have
// its default consistency, minimize_latency, whose revision is up to some seconds old; a caller
// who keeps the token of a write may require that revision.
type spiceDB struct{ server }

func newSpiceDB(bin string) *spiceDB {
	s := &spiceDB{newServer("spicedb", filepath.Join(bin, "spicedb"))}
	s.header.Set("Authorization", "Bearer bench")
	s.allowed = allowedAt("PERMISSIONSHIP_HAS_PERMISSION", "permissionship")
	s.decision = func(q *question) (string, any) {
		body := nested{"resource": spiceObject("namespace:" + q.Namespace), "permission": q.Verb + "_" + q.Resource, "subject": spiceSubject("user:" + q.User)}
		if q.Fresh {
			body["consistency"] = nested{"fullyConsistent": true}
		}
		return "/v1/permissions/check", body
	}
	return s
}

func spiceObject(name string) nested {
	kind, id, _ := strings.Cut(name, ":")
	return nested{"objectType": kind, "objectId": id}
}

func spiceSubject(name string) nested {
	object, relation, _ := strings.Cut(name, "#")
	return nested{"object": spiceObject(object), "optionalRelation": relation}
}

func (s *spiceDB) start(ctx context.Context, w *world, dir string) error {
	address := freeAddress()
	if err := s.launch(ctx, dir, address, "/healthz", "serve", "--grpc-preshared-key", "bench", "--grpc-addr", freeAddress(), "--http-enabled", "--http-addr", address,
		"--metrics-enabled=false", "--telemetry-endpoint", "", "--skip-release-check", "--log-level", "error", "--datastore-engine", "memory"); err != nil {
		return err
	}
	if err := s.call(http.MethodPost, "/v1/schema/write", nested{"schema": w.model("spicedb.zed")}, nil); err != nil {
		return err
	}
	for batch := range slices.Chunk(w.tuples(), 1000) {
		if err := s.callWithin(ctx, "/v1/relationships/write", spiceUpdates("OPERATION_CREATE", batch)); err != nil {
			return err
		}
	}
	return nil
}

func spiceUpdates(operation string, list []tuple) nested {
	return nested{"updates": mapped(list, func(t tuple) nested {
		return nested{"operation": operation, "relationship": nested{"resource": spiceObject(t.Object), "relation": t.Relation, "subject": spiceSubject(t.User)}}
	})}
}

func (s *spiceDB) change(b *binding, bound bool) error {
	operation := "OPERATION_DELETE"
	if bound {
		operation = "OPERATION_CREATE"
	}
	return s.call(http.MethodPost, "/v1/relationships/write", spiceUpdates(operation, b.tuples()), nil)
}

// spiceResult is one of the answers that a lookup streams.
type spiceResult struct {
	Result struct {
		ResourceObjectID string                           `json:"resourceObjectId"`
		Subject          struct{ SubjectObjectID string } `json:"subject"`
	}
	Error any
}

func (s *spiceDB) lookup(path string, body any, name func(*spiceResult) string) (list []string, err error) {
	var stream json.RawMessage
	text, _ := json.Marshal(body)
	if stream, err = s.send(http.MethodPost, path, text); err != nil {
		return nil, err
	}
	for decoder := json.NewDecoder(bytes.NewReader(stream)); ; {
		var r spiceResult
		if err := decoder.Decode(&r); err == io.EOF {
			return list, nil
		} else if err != nil || r.Error != nil {
			return nil, fmt.Errorf("%v %w", r.Error, err)
		}
		list = append(list, name(&r))
	}
}

func (s *spiceDB) who(q *question) ([]string, error) {
	return s.lookup("/v1/permissions/subjects", nested{"resource": spiceObject("namespace:" + q.Namespace), "permission": q.Verb + "_" + q.Resource, "subjectObjectType": "user"},
		func(r *spiceResult) string { return r.Result.Subject.SubjectObjectID })
}

func (s *spiceDB) namespaces(q *question) ([]string, error) {
	return s.lookup("/v1/permissions/resources", nested{"resourceObjectType": "namespace", "permission": q.Verb + "_" + q.Resource, "subject": spiceSubject("user:" + q.User)},
		func(r *spiceResult) string { return r.Result.ResourceObjectID })
}
