package reload

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/writ-policy/writ/translator/tables"
)

// refusing is a translator that says which policies it refused.
type refusing struct {
	*words
	conditions map[string][]tables.GatewayCondition
}

func (t *refusing) PolicyConditions() map[string][]tables.GatewayCondition { return t.conditions }

// The policies in documents with errors are reported as long as those are the documents,
// also where they are not translated again.
func TestStatusShowsRefusedPolicies(t *testing.T) {
	docs := newDocuments("a")
	translator := &refusing{words: &words{}}
	r, _, _ := newReloader(docs, func(o *Options) { o.Translator = translator })
	refused := map[string][]tables.GatewayCondition{
		"AuthPolicy/net/edge": {{Type: "Accepted", Status: "False", Reason: "TargetNotFound"}},
	}
	steps := []struct {
		name       string
		content    string
		conditions map[string][]tables.GatewayCondition
		shown      bool
	}{
		{"good documents", "a", nil, false},
		{"bad ones", "bad", refused, true},
		{"the same, known by now", "bad", nil, true},
		{"good documents again", "a", nil, false},
		{"bad ones of another family", "bad", nil, false},
	}
	for _, step := range steps {
		docs.set(step.content)
		translator.conditions = step.conditions
		_ = r.Reload(context.Background()) // the error is in the status
		text, err := json.Marshal(r.Status())
		check(t, err)
		if got := strings.Contains(string(text), `"policyConditions":{"AuthPolicy/net/edge":[{`); got != step.shown {
			t.Errorf("%s: got %s, want policyConditions: %t", step.name, text, step.shown)
		}
		if got := strings.Contains(string(text), "policyConditions"); got != step.shown {
			t.Errorf("%s: got %s, want no key without policies", step.name, text)
		}
	}
}
