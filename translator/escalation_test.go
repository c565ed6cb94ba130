package translator_test

import (
	"strings"
	"testing"

	"github.com/writ-policy/writ/analysis/question"
	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/source"
)

// The condition Ready counts in objects of a cluster alone: a file states what its author
// wrote.
func TestReadyIsTheConditionOfAnObject(t *testing.T) {
	const ready = `{"apiVersion":"breakglass.t-caas.telekom.com/v1alpha1","kind":"BreakglassEscalation","metadata":{"name":"fix","namespace":"bg"},` +
		`"spec":{"escalatedGroup":"root","allowed":{"clusters":["*"],"groups":["sre"]},"approvers":{"groups":["leads"]}},` +
		`"status":{"conditions":[{"type":"Other","status":"True"},{"type":"Ready","status":"STATUS"}]}}`
	for _, row := range []struct {
		status   string
		isObject bool
		want     string
	}{{"True", true, "true"}, {"False", true, "false"}, {"Unknown", true, "false"}, {"False", false, "null"}} {
		file := source.File{Path: "e.json", Content: source.TextOf([]byte(strings.Replace(ready, "STATUS", row.status, 1))), Object: row.isObject}
		if row.isObject {
			file.Path = "kube:BreakglassEscalation/bg/fix"
		}
		result, list := translator.New(translator.Options{}).Translate(t.Context(), source.Snapshot{Files: []source.File{file}})
		if result == nil {
			t.Fatal(list)
		}
		found := question.EscalationsOf(result.Tables, "fix", "", 0).Escalations
		got := "null"
		if len(found) == 1 && found[0].Ready != nil {
			got = map[bool]string{true: "true", false: "false"}[*found[0].Ready]
		}
		if len(found) != 1 || got != row.want {
			t.Errorf("status %s, object %t: got %d escalations and ready %s, want %s", row.status, row.isObject, len(found), got, row.want)
		}
	}
}
