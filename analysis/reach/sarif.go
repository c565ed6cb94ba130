package reach

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/writ-policy/writ/analysis/diff"
)

// SARIF returns the report in the Static Analysis Results Interchange Format, with a result
// for each path at the line that grants its first hop.
func (r *Report) SARIF(version string) ([]byte, error) {
	var rules []any
	levels := [...]string{Certain: "error", Assumed: "warning", Possible: "note"}
	about := [...]string{Certain: "A subject can become another one by its requests alone", Assumed: "A subject can become another one if something exists or runs",
		Possible: "A subject may become another one, depending on what documents cannot know"}
	for class := range never {
		text := map[string]any{"text": about[class]}
		rules = append(rules, map[string]any{"id": "reach-" + class.String(), "shortDescription": text, "fullDescription": text, "help": text})
	}
	results := []any{}
	for i := range r.Paths {
		p := &r.Paths[i]
		if len(p.Hops) == 0 {
			continue
		}
		id := sha256.Sum256([]byte(p.Subject + "\x00" + p.To))
		result := map[string]any{
			"ruleId": "reach-" + p.Class.String(), "ruleIndex": int(p.Class), "level": levels[p.Class],
			"message":             map[string]any{"text": p.Sentence()},
			"partialFingerprints": map[string]any{"writ": hex.EncodeToString(id[:8])},
		}
		var locations []any
		for _, h := range p.Hops {
			for j := range h.Grants {
				if source := h.Grants[j].Source; source != madeByHop && len(locations) == 0 {
					locations = append(locations, diff.SARIFLocation(source))
				}
			}
		}
		if locations != nil {
			result["locations"] = locations
		}
		results = append(results, result)
	}
	return diff.EncodeSARIF(version, rules, results)
}

// Sentence states a path in one line.
func (p *Path) Sentence() string {
	if len(p.Hops) == 0 {
		return p.Subject + " is " + p.To + " by what it holds"
	}
	var hops []string
	for i := range p.Hops {
		hops = append(hops, p.Hops[i].Text)
	}
	return p.Subject + " reaches " + p.To + ", " + p.Class.String() + ": " + strings.Join(hops, "; then ")
}
