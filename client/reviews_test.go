package client_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"slices"
	"testing"

	"github.com/writ-policy/writ/client"
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

// Each method reads the answer of the server, and its refusals.
func TestReviewsAndQuestions(t *testing.T) {
	c := patient(t, exampleServer().URL)
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
