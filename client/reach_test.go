package client_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/writ-policy/writ/client"
)

// Reach asks a server, which answers with its revision; and reads each part of a path.
func TestReach(t *testing.T) {
	url, stop := serve(t, "127.0.0.1:0")
	defer stop()
	c := patient(t, url)
	r, err := c.Reach(t.Context(), client.ReachQuestion{From: []string{"user:x"}, To: []string{"cluster-admin"}, Namespace: "hammer", Cluster: "prod-1", Class: "assumed", Paths: 2})
	if err != nil || r.Revision == "" || len(r.NotCovered) == 0 {
		t.Fatalf("got %+v, %v", r, err)
	}
	if _, err := c.Reach(t.Context(), client.ReachQuestion{Class: "sure"}); err == nil {
		t.Error("an unknown class is answered")
	}
	const answer = `{"revision":"r","paths":[{"from":{"user":"","groups":["dev"]},"to":"cluster-admin","class":"certain","hops":[{"edge":"impersonate","class":"certain",
"as":{"user":"","groups":["dev"]},"requests":[{"verb":"impersonate","resource":"users","name":"root"}],"becomes":{"user":"root","groups":[],"acting":{"by":{"user":"","groups":["dev"]},"mode":"legacy"}},
"grants":[{"kind":"RoleBinding","name":"b","rule":1,"source":"a.yaml:3"}]}]}],"summary":{"certain":1},"cuts":[{"kind":"RoleBinding","source":"a.yaml:3","paths":1}]}`
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(answer))
	}))
	defer s.Close()
	fake, err := client.New(client.Options{URL: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	if r, err = fake.Reach(t.Context(), client.ReachQuestion{}); err != nil {
		t.Fatal(err)
	}
	h := r.Paths[0].Hops[0]
	if h.Becomes.User != "root" || h.Becomes.Acting.Mode != "legacy" || h.Becomes.Acting.By.Groups[0] != "dev" || h.Grants[0].Source != "a.yaml:3" || r.Cuts[0].Paths != 1 || r.Cuts[0].Source != "a.yaml:3" || r.Summary["certain"] != 1 {
		t.Errorf("got %+v", r)
	}
}
