package assertions

import (
	"encoding/json"

	"github.com/writ-policy/writ/translator/assertion"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/syntax"
)

// Documents returns those of documents that have assertions.
func Documents(documents []syntax.Document) []syntax.Document {
	var out []syntax.Document
	for _, d := range documents {
		if _, isAssertions := d.(*assertion.Document); isAssertions {
			out = append(out, d)
		}
	}
	return out
}

// Question is assertions that are asked for, and are in no document.
type Question struct {
	// Text is the document that they are read as, and Documents it alone.
	Text      []byte
	Documents []syntax.Document
	List      diag.List
}

// QuestionOf reads the members of spec of a document. Its positions are in a file of the name.
func QuestionOf(name string, spec map[string]json.RawMessage) *Question {
	text, err := json.Marshal(map[string]any{
		"apiVersion": syntax.VersionWrit, "kind": assertion.Kind, "metadata": map[string]string{"name": name}, "spec": spec,
	})
	if err != nil {
		panic(err) // it was read from JSON
	}
	decoded := assertion.Kinds.Decode(name, text, syntax.Options{})
	return &Question{Text: text, Documents: decoded.Documents, List: decoded.List}
}
