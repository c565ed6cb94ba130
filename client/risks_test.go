package client_test

import (
	"encoding/json"
	"testing"

	"github.com/writ-policy/writ/client"
	"github.com/writ-policy/writ/translator/diag"
)

// Risks returns the dangerous grants of the active revision, and asks again while the
// server searches.
func TestRisks(t *testing.T) {
	url, stop := serve(t, "127.0.0.1:0")
	defer stop()
	c := patient(t, url)
	all, err := c.Risks(t.Context(), client.RisksQuery{})
	if err != nil || all.Total == 0 || len(all.Risks) == 0 {
		t.Fatalf("got %+v, %v", all, err)
	}
	first := all.Risks[0]
	if _, known := diag.Explain(diag.Code(first.Code)); !known || first.Source == "" || len(first.Subjects) == 0 || !json.Valid(first.Request) {
		t.Errorf("got %+v", first)
	}
	some, err := c.Risks(t.Context(), client.RisksQuery{Code: first.Code, Severity: first.Severity, Limit: 1})
	if err != nil || len(some.Risks) != 1 || some.Risks[0].Sentence != first.Sentence || some.Revision != all.Revision {
		t.Errorf("got %+v, %v", some, err)
	}
	if _, err := c.Risks(t.Context(), client.RisksQuery{Severity: "worst"}); err == nil {
		t.Error("an unknown severity is answered")
	}
}
