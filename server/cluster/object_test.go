package cluster

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/writ-policy/writ/server/decision"
)

// objects answers for objects by their paths, and counts what is read.
type objects struct {
	bodies map[string]string
	reads  []string
}

func (o *objects) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if strings.HasSuffix(r.URL.Path, "/selfsubjectreviews") {
		fmt.Fprint(w, `{"kind":"SelfSubjectReview","status":{"userInfo":{"username":"writ"}}}`)
		return
	}
	read := r.URL.Path
	if r.Header.Get("Accept") == metadataOnly {
		read += " metadata"
	}
	o.reads = append(o.reads, read)
	body, found := o.bodies[r.URL.Path]
	if !found {
		w.WriteHeader(http.StatusForbidden)
		body = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`
	}
	fmt.Fprint(w, body)
}

func TestFactsOfAnObject(t *testing.T) {
	server := &objects{bodies: map[string]string{
		"/api/v1/namespaces/shop/secrets/gold":            `{"kind":"PartialObjectMetadata","metadata":{"name":"gold","labels":{"tier":"gold"}}}`,
		"/api/v1/namespaces/shop/secrets/plain":           `{"kind":"PartialObjectMetadata","metadata":{"name":"plain"}}`,
		"/api/v1/namespaces/shop/secrets/odd":             `{"kind":"PartialObjectMetadata","metadata":{"name":"odd","labels":{"tier":1}}}`,
		"/api/v1/namespaces/shop/secrets/other":           `{"kind":"PartialObjectMetadata","metadata":{"name":"another"}}`,
		"/api/v1/namespaces/shop/secrets/broken":          `{`,
		"/apis/apps/v1/namespaces/shop/deployments/front": `{"kind":"PartialObjectMetadata","metadata":{"name":"front","labels":{}}}`,
		"/api/v1/nodes/n1":                                `{"kind":"PartialObjectMetadata","metadata":{"name":"n1","labels":{"pool":"a"}}}`,
		"/api/v1/namespaces/shop/pods/p":                  `{"kind":"Pod","metadata":{"name":"p","labels":{"app":"x"}},"spec":{"nodeName":"n1"}}`,
		"/api/v1/namespaces/shop/pods/nowhere":            `{"kind":"Pod","metadata":{"name":"nowhere"},"spec":{}}`,
	}}
	listener := httptest.NewServer(server)
	defer listener.Close()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "k.yaml"), strings.ReplaceAll(kubeconfig, "https://127.0.0.1:1", listener.URL))
	path := filepath.Join(dir, "clusters.yaml")
	write(t, path, "clusters:\n  - {name: all, kubeconfig: k.yaml, facts: [labels, node]}\n"+
		"  - {name: labels, kubeconfig: k.yaml, facts: [labels]}\n  - {name: none, kubeconfig: k.yaml}\n")
	clusters, err := Read(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	both, labels := decision.Facts{Labels: true, Node: true}, decision.Facts{Labels: true}
	for _, row := range []struct {
		name, cluster string
		r             decision.Request
		missing       decision.Facts
		labels        map[string]string
		node, read    string
	}{
		{"labels", "all", decision.Request{Resource: "secrets", Namespace: "shop", Name: "gold"}, labels, map[string]string{"tier": "gold"}, "", "/api/v1/namespaces/shop/secrets/gold metadata"},
		{"no labels", "all", decision.Request{Resource: "secrets", Namespace: "shop", Name: "plain"}, labels, map[string]string{}, "", "/api/v1/namespaces/shop/secrets/plain metadata"},
		{"another group", "all", decision.Request{APIGroup: "apps", Resource: "deployments", Namespace: "shop", Name: "front"}, labels, map[string]string{}, "", "/apis/apps/v1/namespaces/shop/deployments/front metadata"},
		{"no namespace", "all", decision.Request{Resource: "nodes", Name: "n1"}, labels, map[string]string{"pool": "a"}, "", "/api/v1/nodes/n1 metadata"},
		{"a subresource", "all", decision.Request{Resource: "pods", Subresource: "log", Namespace: "shop", Name: "p"}, labels, map[string]string{"app": "x"}, "", "/api/v1/namespaces/shop/pods/p metadata"},
		{"labels and node", "all", decision.Request{Resource: "pods", Namespace: "shop", Name: "p"}, both, map[string]string{"app": "x"}, "n1", "/api/v1/namespaces/shop/pods/p"},
		{"node alone", "all", decision.Request{Resource: "pods", Namespace: "shop", Name: "p"}, decision.Facts{Node: true}, nil, "n1", "/api/v1/namespaces/shop/pods/p"},
		{"a pod without a node", "all", decision.Request{Resource: "pods", Namespace: "shop", Name: "nowhere"}, both, map[string]string{}, "", "/api/v1/namespaces/shop/pods/nowhere"},
		{"the node is not asked for", "labels", decision.Request{Resource: "pods", Namespace: "shop", Name: "p"}, both, map[string]string{"app": "x"}, "", "/api/v1/namespaces/shop/pods/p metadata"},
		{"nothing is asked for", "none", decision.Request{Resource: "secrets", Namespace: "shop", Name: "gold"}, both, nil, "", ""},
		{"labels of another type", "all", decision.Request{Resource: "secrets", Namespace: "shop", Name: "odd"}, labels, nil, "", "/api/v1/namespaces/shop/secrets/odd metadata"},
		{"another object", "all", decision.Request{Resource: "secrets", Namespace: "shop", Name: "other"}, labels, nil, "", "/api/v1/namespaces/shop/secrets/other metadata"},
		{"no JSON", "all", decision.Request{Resource: "secrets", Namespace: "shop", Name: "broken"}, labels, nil, "", "/api/v1/namespaces/shop/secrets/broken metadata"},
		{"forbidden", "all", decision.Request{Resource: "secrets", Namespace: "shop", Name: "closed"}, labels, nil, "", "/api/v1/namespaces/shop/secrets/closed metadata"},
		{"a way up", "all", decision.Request{Resource: "secrets", Namespace: "shop", Name: "../gold"}, labels, nil, "", ""},
		{"every resource", "all", decision.Request{Resource: "*", Namespace: "shop", Name: "gold"}, labels, nil, "", ""},
		{"a query", "all", decision.Request{Resource: "secrets?watch=true", Namespace: "shop", Name: "gold"}, labels, nil, "", ""},
		{"the own read", "all", decision.Request{User: "writ", Resource: "secrets", Namespace: "shop", Name: "gold"}, labels, nil, "", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			server.reads = nil
			r := row.r
			r.Cluster, r.Verb, r.Attributes = row.cluster, "get", map[string]any{"version": "v1"}
			shared := r.Attributes
			clusters.Complete(t.Context(), &r, row.missing)
			node, _ := r.Attributes[decision.AttributePodNode].(string)
			if !maps.Equal(r.Labels, row.labels) || (r.Labels == nil) != (row.labels == nil) || node != row.node {
				t.Errorf("got labels %v and node %q, want %v and %q", r.Labels, node, row.labels, row.node)
			}
			if got := strings.Join(server.reads, " "); got != row.read {
				t.Errorf("got reads %q, want %q", got, row.read)
			}
			if len(shared) != 1 {
				t.Errorf("the attributes of the review were changed: %v", shared)
			}
		})
	}
	r := decision.Request{Cluster: "all", Verb: "get", Resource: "secrets", Namespace: "shop", Name: "gold"}
	server.reads = nil
	if clusters.Complete(t.Context(), &r, labels); r.Labels != nil || server.reads != nil {
		t.Errorf("an object of an unknown version was read: %v, %v", r.Labels, server.reads)
	}
}
