package diag

import (
	"cmp"
	"io"
	"net/url"
	"slices"
)

// The parts of SARIF 2.1.0 that a report of diagnostics uses.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool       sarifTool     `json:"tool"`
		ColumnKind string        `json:"columnKind"`
		Results    []sarifResult `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name    string      `json:"name"`
		Version string      `json:"version,omitempty"`
		Rules   []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID      string       `json:"id"`
		Short   *sarifText   `json:"shortDescription,omitempty"`
		Full    *sarifText   `json:"fullDescription,omitempty"`
		Default sarifDefault `json:"defaultConfiguration"`
		// Properties has the highest security-severity of the results of the rule.
		Properties *sarifProperties `json:"properties,omitempty"`
	}
	// sarifProperties are those that GitHub reads of rules about security.
	sarifProperties struct {
		Tags  []string `json:"tags"`
		Score string   `json:"security-severity"`
	}
	sarifDefault struct {
		Level string `json:"level"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		RuleID    string          `json:"ruleId"`
		RuleIndex int             `json:"ruleIndex"`
		Level     string          `json:"level"`
		Message   sarifText       `json:"message"`
		Locations []sarifLocation `json:"locations,omitempty"`
		Related   []sarifLocation `json:"relatedLocations,omitempty"`
		// Suppressions is nil if no result of the run has any: SARIF wants all or none.
		Suppressions *[]sarifSuppression `json:"suppressions,omitempty"`

		Properties map[string]string `json:"properties,omitempty"`
	}
	sarifSuppression struct {
		Kind          string         `json:"kind"`
		Justification string         `json:"justification"`
		Location      *sarifLocation `json:"location,omitempty"`
	}
	sarifLocation struct {
		ID       int           `json:"id,omitempty"`
		Physical sarifPhysical `json:"physicalLocation"`
		Message  *sarifText    `json:"message,omitempty"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   *sarifRegion  `json:"region,omitempty"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		StartLine   int `json:"startLine"`
		StartColumn int `json:"startColumn,omitempty"`
		EndColumn   int `json:"endColumn,omitempty"`
	}
)

// WriteSARIF writes all diagnostics, sorted, and those that are silenced, as one run of
// SARIF 2.1.0. version is the version of the program and may be empty. It returns an error
// only if w does.
func WriteSARIF(w io.Writer, list List, silenced []Silenced, version string) error {
	sorted := list.Sorted()
	all := slices.Clone(sorted)
	for _, s := range silenced {
		all.Add(s.Diagnostic)
	}
	rules, index := sarifRules(all)
	run := sarifRun{
		Tool:       sarifTool{sarifDriver{Name: "writ", Version: version, Rules: rules}},
		ColumnKind: "unicodeCodePoints",
		Results:    make([]sarifResult, 0, len(all)),
	}
	for i, d := range all {
		result := sarifOf(d, index[d.Code])
		if len(silenced) > 0 {
			result.Suppressions = &[]sarifSuppression{}
		}
		if i >= len(sorted) {
			by := silenced[i-len(sorted)].By
			*result.Suppressions = []sarifSuppression{{by.kind(), by.Reason, &sarifLocation{Physical: sarifPlace(by.Position, 0)}}}
		}
		run.Results = append(run.Results, result)
	}
	return WriteIndented(w, sarifLog{
		Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{run},
	})
}

// sarifRules returns a SARIF rule for each code in the list, sorted by code, and
// the index of each code among them.
func sarifRules(list List) ([]sarifRule, map[Code]int) {
	severities := map[Code]Severity{}
	scores := map[Code]string{}
	for _, d := range list {
		severities[d.Code] = d.Severity
		scores[d.Code] = max(scores[d.Code], securitySeverity[d.Risk])
	}
	rules := make([]sarifRule, 0, len(severities))
	for code, severity := range severities {
		rule := sarifRule{ID: string(code), Default: sarifDefault{severity.String()}, Properties: sarifTagged(scores[code])}
		if e, known := Explain(code); known {
			rule.Short, rule.Full = &sarifText{e.Summary}, &sarifText{e.Text}
		}
		rules = append(rules, rule)
	}
	slices.SortFunc(rules, func(a, b sarifRule) int { return cmp.Compare(a.ID, b.ID) })
	index := make(map[Code]int, len(rules))
	for i, r := range rules {
		index[Code(r.ID)] = i
	}
	return rules, index
}

// securitySeverity are the scores in which readers of SARIF sort dangers.
var securitySeverity = map[string]string{"low": "2.0", "medium": "5.0", "high": "8.0", "critical": "9.5"}

// sarifTagged returns the properties of a rule: a score is read of those with the tag alone.
func sarifTagged(score string) *sarifProperties {
	if score == "" {
		return nil
	}
	return &sarifProperties{Tags: []string{"security"}, Score: score}
}

func sarifScore(score string) map[string]string {
	if score == "" {
		return nil
	}
	return map[string]string{"security-severity": score}
}

func sarifOf(d Diagnostic, rule int) sarifResult {
	result := sarifResult{RuleID: string(d.Code), RuleIndex: rule, Level: d.Severity.String(), Message: sarifText{d.Message}, Properties: sarifScore(securitySeverity[d.Risk])}
	if d.Hint != "" {
		result.Message.Text += "\nhint: " + d.Hint
	}
	if d.File != "" {
		result.Locations = []sarifLocation{{Physical: sarifPlace(d.Position, d.Length)}}
	}
	for i, r := range d.Related {
		if r.File != "" {
			result.Related = append(result.Related, sarifLocation{ID: i + 1, Physical: sarifPlace(r.Position, 0), Message: &sarifText{r.Message}})
		}
	}
	return result
}

func sarifPlace(p Position, length int) sarifPhysical {
	physical := sarifPhysical{Artifact: sarifArtifact{(&url.URL{Path: p.File}).String()}}
	if p.Line > 0 && p.Field == "" {
		physical.Region = &sarifRegion{StartLine: p.Line, StartColumn: p.Column}
		if p.Column > 0 && length > 0 {
			physical.Region.EndColumn = p.Column + length
		}
	}
	return physical
}
