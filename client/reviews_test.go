package client_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/writ-policy/writ/client"
	"github.com/writ-policy/writ/server"
)

func ExampleClient_SubjectAccessReview() {
	c, err := client.New(client.Options{URL: exampleServer().URL})
	if err != nil {
		log.Fatal(err)
	}
	status, err := c.SubjectAccessReview(context.Background(), "", &client.SubjectAccessReview{
		User: "priya", Groups: []string{"shop-developers"},
		Resource: &client.ResourceAttributes{Verb: "list", Group: "apps", Resource: "deployments", Namespace: "shop"},
	})
	if err != nil {
		log.Fatal(err) // not decided: do not permit
	}
	fmt.Println(status.Allowed, status.Denied)
	// Output:
	// true false
}

func ExampleClient_LocalSubjectAccessReview() {
	c, err := client.New(client.Options{URL: exampleServer().URL})
	if err != nil {
		log.Fatal(err)
	}
	status, err := c.LocalSubjectAccessReview(context.Background(), "hammer", &client.LocalSubjectAccessReview{
		Verb: "delete", ResourceKind: "DeploymentConfig", UserName: "Edgar",
		Content: map[string]any{"metadata": map[string]any{"labels": map[string]any{"protected": "yes"}}},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(status.Allowed, status.AllowReason)
	fmt.Println(status.DenyReason)
	// Output:
	// false allowed by RoleBinding hammer/Editors (Role master/edit, rule 0)
	// denied by RoleBinding hammer/FatFingeredEditors (Role hammer/fatFingeredEditor, rule 0); would be allowed by RoleBinding hammer/Editors (Role master/edit, rule 0)
}

func ExampleClient_WhoCan() {
	c, err := client.New(client.Options{URL: exampleServer().URL})
	if err != nil {
		log.Fatal(err)
	}
	who, err := c.WhoCan(context.Background(), &client.WhoCanQuestion{Request: map[string]any{
		"verb": "list", "apiGroup": "apps", "resource": "deployments", "namespace": "shop",
	}})
	if err != nil {
		log.Fatal(err)
	}
	for _, s := range who.Subjects {
		if s.Subject == "group:shop-developers" {
			fmt.Println(s.Verdict)
		}
	}
	// Output:
	// always
}

func ExampleClient_Verify() {
	c, err := client.New(client.Options{URL: exampleServer().URL})
	if err != nil {
		log.Fatal(err)
	}
	verdicts, err := c.Verify(context.Background(), &client.VerifyQuestion{Assertions: []map[string]any{{
		"name": "developers do not delete nodes", "never": "allowed",
		"of": map[string]any{"verb": "delete", "resource": "nodes", "holds": map[string]any{"only": "group:shop-developers"}},
	}}})
	if err != nil {
		log.Fatal(err)
	}
	for _, a := range verdicts.Assertions {
		fmt.Println(a.Verdict, a.Failed)
	}
	// Output:
	// holds false
}

// Each method reads the answer of the server, and its refusals.
func TestReviewsAndQuestions(t *testing.T) {
	c := patient(t, exampleServer().URL)
	served, err := c.Assertions(t.Context())
	if err != nil || served.Revision == "" || served.State == "" {
		t.Errorf("got %+v and %v, want the state of the assertions", served, err)
	}
	who, err := c.ResourceAccessReview(t.Context(), "hammer", &client.ResourceAccessReview{Verb: "get", ResourceKind: "Pod"})
	if err != nil || !slices.Contains(who.UserNames, "Edgar") {
		t.Errorf("got %+v and %v, want Edgar among the users", who, err)
	}
	what, err := c.WhatCan(t.Context(), &client.WhatCanQuestion{User: "Edgar", Open: []string{"namespace"}})
	if err != nil || len(what.Resources) == 0 || what.Revision == "" || !slices.Contains(what.Resources[0].Namespaces, "hammer") {
		t.Errorf("got %+v and %v, want rules in hammer", what, err)
	}
	clark, err := c.WhatCan(t.Context(), &client.WhatCanQuestion{User: "Clark", Open: []string{"namespace"}})
	if err != nil || len(clark.Resources) == 0 || !slices.Equal(clark.Resources[0].Namespaces, []string{"*"}) {
		t.Errorf("got %+v and %v, want rules in all namespaces", clark, err)
	}
	var refused *client.Error
	if _, err := c.SelfSubjectRulesReview(t.Context(), "", "shop"); !errors.As(err, &refused) || refused.Status != http.StatusUnauthorized || refused.Message == "" {
		t.Errorf("without a caller: got %v", err)
	}
	if _, err := c.LocalSubjectAccessReview(t.Context(), "hammer", &client.LocalSubjectAccessReview{Verb: "get"}); !errors.As(err, &refused) || refused.Status != http.StatusBadRequest {
		t.Errorf("without a kind: got %v", err)
	}
	status, err := c.SubjectAccessReview(t.Context(), "", &client.SubjectAccessReview{User: "priya", NonResource: &client.NonResourceAttributes{Path: "/x", Verb: "get"}})
	if err != nil || status.Allowed || status.Reason == "" {
		t.Errorf("a path: got %+v and %v", status, err)
	}
}

func TestEscalations(t *testing.T) {
	config := server.Defaults()
	config.Policies = []string{t.TempDir()}
	documents := `{apiVersion: breakglass.t-caas.telekom.com/v1alpha1, kind: BreakglassEscalation, metadata: {name: fix, namespace: bg},
spec: {escalatedGroup: root, allowed: {clusters: ["prod-*"], groups: [sre]}, approvers: {users: [ann], groups: [leads]}, blockSelfApproval: true}}`
	if err := os.WriteFile(filepath.Join(config.Policies[0], "p.yaml"), []byte(documents), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := server.New(config)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(s.Handler())
	defer h.Close()
	c := patient(t, h.URL)
	got, err := c.Escalations(t.Context(), &client.EscalationsQuestion{Name: "bg/fix", Cluster: "prod-1"})
	want := []client.Escalation{{
		Namespace: "bg", Name: "fix", Group: "root", Clusters: []string{"prod-*"}, Source: "p.yaml:1",
		Request: client.EscalationRoles{Groups: []string{"sre"}}, Approve: client.EscalationRoles{Users: []string{"ann"}, Groups: []string{"leads"}},
		PerCluster: []client.EscalationTerms{}, Domains: []string{}, Both: []string{}, DenyPolicies: []string{},
	}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v and %v, want %+v", got, err, want)
	}
	if got, err = c.Escalations(t.Context(), &client.EscalationsQuestion{Cluster: "dev"}); err != nil || len(got) > 0 {
		t.Errorf("got %+v and %v, want no escalation", got, err)
	}
}
