package diff

import (
	"cmp"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/internal/jsontext"
)

// sarifLevels are the levels of the changes that deserve a warning.
var sarifLevels = map[string]string{changeGain: "warning", changeRelax: "warning", changeLoss: "warning"}

// sarifRules describe the changes for code scanning.
var sarifRules = map[string]string{
	changeGain:    "A request is allowed that was not",
	changeRelax:   "A request was denied, and is neither denied nor allowed now",
	changeLoss:    "A request was allowed, and is not allowed now",
	changeTighten: "A request is denied that nothing allowed",
	changeOther:   "A request is denied with another status",
}

// SARIF returns the report in the Static Analysis Results Interchange Format, with a
// result for each class at the first line of B that is responsible, otherwise of A. A result
// has one rule: that of the most dangerous change of its class. Its message and its
// properties have all.
func (r *Report) SARIF(version string) ([]byte, error) {
	causes := make(map[string][]Cause)
	for i := range r.Groups {
		for _, id := range r.Groups[i].Classes {
			causes[id] = r.Groups[i].Causes
		}
	}
	results := []any{}
	for i := range r.Classes {
		results = append(results, r.sarifResult(&r.Classes[i], causes[r.Classes[i].ID]))
	}
	var rules []any
	for _, change := range changeKinds {
		text := map[string]any{"text": sarifRules[change]}
		rules = append(rules, map[string]any{"id": "change-" + change, "shortDescription": text, "fullDescription": text, "help": text})
	}
	if r.asserted != nil {
		rules, results = append(rules, r.asserted.Rules...), append(results, r.asserted.Results...)
	}
	more, found := r.sarifReach(len(rules))
	return EncodeSARIF(version, append(rules, more...), append(results, found...))
}

// EncodeSARIF returns the results of some rules as a run of writ.
func EncodeSARIF(version string, rules, results []any) ([]byte, error) {
	text, err := json.MarshalIndent(map[string]any{
		"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0",
		"runs": []any{map[string]any{
			"tool":    map[string]any{"driver": map[string]any{"name": "writ", "version": version, "rules": rules}},
			"results": results,
		}},
	}, "", "  ")
	return jsontext.EscapeControls(text), err
}

// SARIFLocation returns FILE:LINE as the location of a result.
func SARIFLocation(source string) map[string]any {
	file, line := splitSource(source)
	location := map[string]any{"artifactLocation": map[string]any{"uri": (&url.URL{Path: file}).String()}}
	if line > 0 {
		location["region"] = map[string]any{"startLine": line}
	}
	return map[string]any{"physicalLocation": location}
}

func (r *Report) sarifResult(k *Class, causes []Cause) map[string]any {
	result := map[string]any{
		"ruleId": "change-" + k.Changes[0], "ruleIndex": slices.Index(changeKinds, k.Changes[0]), "level": cmp.Or(sarifLevels[k.Changes[0]], "note"),
		"message": map[string]any{"text": k.Summary}, "partialFingerprints": map[string]any{"writ": k.ID},
		"properties": map[string]any{"changes": k.Changes, "exact": k.Exact},
	}
	if source := r.place(k, causes); source != "" {
		result["locations"] = []any{SARIFLocation(source)}
	}
	if k.Accepted {
		result["suppressions"] = []any{map[string]any{"kind": "external", "justification": strings.TrimSuffix("listed as an expected change: "+k.Reason, ": ")}}
	}
	return result
}

// place returns the first responsible line of B, otherwise of A.
func (r *Report) place(k *Class, causes []Cause) string {
	for _, in := range []string{"b", "a"} {
		for _, c := range causes {
			if c.In == in && c.Source != "" {
				return c.Source
			}
		}
		for _, id := range slices.Concat(k.All...) {
			at := slices.IndexFunc(r.Statements[id].Documents, func(d statement.Document) bool { return d.In == in })
			if at >= 0 {
				return r.Statements[id].Documents[at].Place()
			}
		}
	}
	return ""
}

// splitSource splits FILE:LINE.
func splitSource(source string) (file string, line int) {
	at := strings.LastIndexByte(source, ':')
	if at < 0 {
		return source, 0
	}
	n, err := strconv.Atoi(source[at+1:])
	if err != nil {
		return source, 0
	}
	return source[:at], n
}
