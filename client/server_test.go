package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/writ-policy/writ"
	"github.com/writ-policy/writ/client"
	"github.com/writ-policy/writ/server"
)

const examples = "../examples/policies"

// serve runs a server of the example policies at an address until stop is called.
func serve(t testing.TB, address string) (url string, stop func()) {
	config := server.Defaults()
	config.Policies, config.Listen, config.Timeouts.Drain = []string{examples}, address, 0
	listening := make(chan net.Addr, 1)
	config.Listening = func(a net.Addr) { listening <- a }
	s, err := server.New(config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	stop = func() {
		cancel()
		<-ended
	}
	select {
	case a := <-listening:
		return "http://" + a.String(), stop
	case err := <-ended:
		t.Fatal(err)
	}
	return "", nil
}

// patient asks until the server has read the documents, whatever the machine does
// meanwhile.
func patient(t testing.TB, url string) *client.Client {
	c, err := client.New(client.Options{URL: url, Attempts: 1000})
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		if s, err := c.Status(t.Context()); err == nil && s.Ready {
			return c
		}
	}
	t.Fatal("the server is not ready")
	return nil
}

// encoded is a decision as JSON, to compare those of different engines.
func encoded(t *testing.T, d any) string {
	text, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A client returns what package writ decides by the same documents, one request at a time
// and in a batch.
func TestDecisionsAreThoseOfPackageWrit(t *testing.T) {
	c := patient(t, exampleServer().URL)
	own, err := writ.Load(t.Context(), examples, writ.Options{})
	if err != nil {
		t.Fatal(err)
	}
	accesses := []*client.AccessRequest{
		{User: "Edgar", Verb: "delete", Resource: "services", Namespace: "hammer"},
		{User: "Edgar", Verb: "delete", Resource: "deploymentconfigs", Namespace: "hammer", Labels: map[string]string{"protected": "yes"}},
		{User: "Edgar", Verb: "delete"},
		{User: "stranger", Verb: "get", Resource: "pods"},
	}
	items, err := c.AccessBatch(t.Context(), accesses)
	if err != nil || len(items) != len(accesses) {
		t.Fatalf("got %d items and %v", len(items), err)
	}
	allowed := 0
	for i, r := range accesses {
		want, wantErr := own.Access(t.Context(), r)
		got, err := c.Access(t.Context(), r)
		var invalid, wantInvalid *client.InvalidRequest
		if errors.As(err, &invalid) != errors.As(wantErr, &wantInvalid) || err == nil && (encoded(t, got) != encoded(t, want) || got.Revision != want.Revision) {
			t.Errorf("%+v: got %+v and %v, want %+v and %v", r, got, err, want, wantErr)
		}
		if invalid != nil && (invalid.Field != wantInvalid.Field || !reflect.DeepEqual(invalid.Message, items[i].Invalid.Message)) {
			t.Errorf("%+v: got %+v, in a batch %+v, want %+v", r, invalid, items[i].Invalid, wantInvalid)
		}
		if encoded(t, items[i].Decision) != encoded(t, got) {
			t.Errorf("%+v: got %+v in a batch, want %+v", r, items[i].Decision, got)
		}
		if got.Allowed {
			allowed++
		}
	}
	if allowed == 0 || allowed == len(accesses) {
		t.Errorf("%d requests are allowed", allowed)
	}
	view := &client.VisibilityRequest{
		User: "Hubert", Groups: []string{"hammer"}, Type: "pods", Cluster: writ.Cluster{Name: "prod-eu-1", Labels: map[string]string{"env": "prod"}},
		Items: &[]writ.Item{{Name: "web", Namespace: "hammer"}, {Name: "web", Namespace: "kube-system"}},
	}
	gate := &client.GatewayRequest{Attributes: map[string]any{"request": map[string]any{"method": "GET", "path": "/", "host": "shop.example"}}}
	checkViews(t, c, own, view)
	checkGates(t, c, own, gate)
}

func checkViews(t *testing.T, c *client.Client, own *writ.Policies, r *client.VisibilityRequest) {
	want := own.Visibility(t.Context(), r)
	got, err := c.Visibility(t.Context(), r)
	if err != nil || encoded(t, got) != encoded(t, want) || got.Revision != want.Revision {
		t.Errorf("got %s and %v, want %s", encoded(t, got), err, encoded(t, want))
	}
	items, err := c.VisibilityBatch(t.Context(), []*client.VisibilityRequest{r, r})
	if err != nil || len(items) != 2 || encoded(t, items[1].Decision) != encoded(t, want) {
		t.Errorf("got %+v and %v, want %s", items, err, encoded(t, want))
	}
}

func checkGates(t *testing.T, c *client.Client, own *writ.Policies, r *client.GatewayRequest) {
	want, wantErr := own.Gateway(t.Context(), r)
	got, err := c.Gateway(t.Context(), r)
	if (err == nil) != (wantErr == nil) || encoded(t, got) != encoded(t, want) {
		t.Errorf("got %s and %v, want %s and %v", encoded(t, got), err, encoded(t, want), wantErr)
	}
	items, err := c.GatewayBatch(t.Context(), []*client.GatewayRequest{r, {Attributes: map[string]any{"unknown": true}}})
	if err != nil || len(items) != 2 || encoded(t, items[0].Decision) != encoded(t, want) || items[1].Invalid == nil {
		t.Errorf("got %+v and %v, want %s and an invalid request", items, err, encoded(t, want))
	}
}

// An evaluation of AuthZEN is the decision at the access point.
func TestEvaluate(t *testing.T) {
	c := patient(t, exampleServer().URL)
	e := &client.Evaluation{
		Subject:  client.Entity{Type: "user", ID: "Edgar"},
		Action:   client.Action{Name: "delete"},
		Resource: client.Entity{Type: "services", ID: "web", Properties: map[string]any{"namespace": "hammer"}},
	}
	d, err := c.Evaluate(t.Context(), e)
	if err != nil || !d.Decision || !d.Context.Allowed || d.Context.Revision == "" {
		t.Errorf("got %+v and %v, want a permit", d, err)
	}
	e.Subject.Type = ""
	refused := new(client.Error)
	if d, err := c.Evaluate(t.Context(), e); !errors.As(err, &refused) || refused.Status != 400 || !strings.Contains(refused.Message, "subject") || d.Decision {
		t.Errorf("got %+v and %v, want a refusal that names the subject", d, err)
	}
}

// A client outlasts a server that is gone for a while: the call that began before the
// server ended is answered by the next one at the address.
func TestGoneAndBack(t *testing.T) {
	url, stop := serve(t, "127.0.0.1:0")
	c := patient(t, url)
	r := &client.AccessRequest{User: "Edgar", Verb: "delete", Resource: "services", Namespace: "hammer"}
	if d, err := c.Access(t.Context(), r); err != nil || !d.Allowed {
		t.Fatalf("got %+v and %v", d, err)
	}
	stop()
	short, err := client.New(client.Options{URL: url, Attempts: 2})
	if err != nil {
		t.Fatal(err)
	}
	if d, err := short.Access(t.Context(), r); err == nil || d.Allowed {
		t.Errorf("got %+v of a server that is gone", d)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	answered := make(chan error, 1)
	go func() {
		for {
			d, err := c.Access(ctx, r)
			if err != nil || d.Allowed { // it is denied until the documents are read
				answered <- err
				return
			}
		}
	}()
	_, stop = serve(t, strings.TrimPrefix(url, "http://"))
	defer stop()
	if err := <-answered; err != nil {
		t.Errorf("got %v from a server that is back", err)
	}
}

// A proposal is compared with what is served; mistakes in its documents are in the error.
func TestDiff(t *testing.T) {
	url, stop := serve(t, "127.0.0.1:0")
	defer stop()
	c := patient(t, url)
	document := func(verbs string) *client.Proposal {
		return &client.Proposal{Documents: []client.File{{Path: "new.yaml", Content: `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: new}
rules: [{apiGroups: [""], resources: [secrets], verbs: ` + verbs + `}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: new, namespace: new}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: new}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: newcomer}]
`}}}
	}
	d, err := c.Diff(t.Context(), document("[get]"))
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Groups) != 1 || d.Groups[0].Summary != "user newcomer gets ClusterRole new in new (get secrets)" || d.Summary["gain"] != 1 || !strings.Contains(string(d.Report), `"witness"`) {
		t.Errorf("got %+v", d)
	}
	var refused *client.Error
	if _, err = c.Diff(t.Context(), document("get")); !errors.As(err, &refused) || refused.Status != 422 || len(refused.Diagnostics) != 1 || refused.Diagnostics[0].Line != 5 {
		t.Errorf("got %v", err)
	}
}
