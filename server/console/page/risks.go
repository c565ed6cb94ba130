package page

import (
	"bytes"
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/writ-policy/writ/server/console"
)

// risksPath is the view of dangerous grants.
const risksPath = "/page/risks"

// How many risks of a code are shown among others, and subjects of a risk.
const (
	risksOfCode     = 5
	maxRiskSubjects = 3
)

// risksContent is the dangerous grants by code.
type risksContent struct {
	Severities, Codes []option
	Subject           string
	Filtered          bool
	Pending           bool
	// Counts are the risks of all documents by severity, without those that are accepted.
	Counts      []severityCount
	Accepted    int
	Groups      []riskGroup
	First, Next string
	// Placeholder is true if a request has the name that stands for those of no document.
	Placeholder bool
}

// severityCount is how many risks have a severity.
type severityCount struct {
	Badge mark
	Count int
	Href  string
}

// riskGroup is the risks of a code.
type riskGroup struct {
	console.RiskCode
	Badge mark
	Open  bool
	Risks []riskRow
	// All leads to all risks of the code; empty if they are shown.
	All string
}

// riskRow is a risk.
type riskRow struct {
	console.Risk
	Badge    mark
	Subjects []tab
	More     int // subjects that are left out
	Ask      string
}

// severityMarks are how severities look, the most severe first.
var severityMarks = []struct {
	severity string
	mark     mark
}{
	{"critical", mark{"deny", "warning", "critical"}}, {"high", mark{"warn", "warning", "high"}},
	{"medium", mark{"rate", "minus", "medium"}}, {"low", mark{"none", "minus", "low"}},
}

func severityMark(severity string) mark {
	for _, s := range severityMarks {
		if s.severity == severity {
			return s.mark
		}
	}
	return mark{"none", "minus", severity}
}

// risks is the view of dangerous grants.
func risks(ctx context.Context, q *question) (frame, error) {
	asked := console.RisksQuery{Severity: q.value("severity"), Subject: q.value("subject"), Limit: 1}
	code := q.value("code")
	c := risksContent{Subject: asked.Subject, Filtered: asked.Severity+asked.Subject+code != ""}
	shown := frame{Title: "Risks", Lead: "Dangerous grants, denials counted in, the most severe first.", Live: "revision", Content: &c}
	all, err := q.Risks(ctx, q.caller, asked)
	if isReason(err, console.Pending) {
		c.Pending, shown.Again, shown.Status = true, 2, http.StatusAccepted
		return shown, nil
	}
	if err != nil {
		return frame{}, err
	}
	c.count(all, asked.Severity)
	c.Codes = []option{{Word: "any"}}
	for _, found := range all.Codes {
		c.Codes = append(c.Codes, option{found.Code, found.Can, found.Code == code})
	}
	if code != "" && !slices.ContainsFunc(all.Codes, func(f console.RiskCode) bool { return f.Code == code }) {
		c.Codes = append(c.Codes, option{code, code, true})
	}
	for i, found := range all.Codes {
		if code != "" && found.Code != code {
			continue
		}
		asked.Code, asked.Limit, asked.After = found.Code, risksOfCode, ""
		if code != "" {
			asked.Limit, asked.After = 0, q.value("after")
		}
		page, err := q.Risks(ctx, q.caller, asked)
		if err != nil {
			return frame{}, err
		}
		found.Text, _, _ = strings.Cut(found.Text, " The level is ") // which is the same for all, and stands below
		g := riskGroup{RiskCode: found, Badge: severityMark(found.Severity), Open: code != "" || found.Severity == all.Codes[0].Severity && (i == 0 || found.Accepted < found.Total)}
		for j := range page.Risks {
			row := rowOfRisk(&page.Risks[j])
			c.Placeholder = c.Placeholder || bytes.Contains(row.Request, []byte("writ-any-other"))
			g.Risks = append(g.Risks, row)
		}
		switch {
		case page.After == "":
		case code != "":
			c.Next = withValue(risksPath, q.query, "after", page.After)
		default:
			g.All = withValue(risksPath, q.query, "code", found.Code)
		}
		c.Groups = append(c.Groups, g)
	}
	if q.value("after") != "" {
		c.First = withValue(risksPath, q.query, "after", "")
	}
	return shown, nil
}

// Bounds of the risks of the overview: it does not wait for a search, and begins none for
// more documents.
const (
	worstRisks     = 3
	waitForWorst   = 200 * time.Millisecond
	maxSearchedFor = 20_000
)

// risksInShort is how many risks there are, and the worst ones.
type risksInShort struct {
	Counts []severityCount
	Worst  []riskGroup
	// Pending is true while they are searched for, and Unasked if they are not.
	Pending, Unasked bool
}

// worstOf returns the risks of the overview, nil if they are not known.
func worstOf(ctx context.Context, q *question, documents int) *risksInShort {
	if documents > maxSearchedFor {
		return &risksInShort{Unasked: true}
	}
	ctx, cancel := context.WithTimeout(ctx, waitForWorst)
	defer cancel()
	all, err := q.Risks(ctx, q.caller, console.RisksQuery{Limit: 1})
	if err != nil {
		if isReason(err, console.Pending) {
			return &risksInShort{Pending: true}
		}
		return nil
	}
	var c risksContent
	c.count(all, "")
	short := &risksInShort{Counts: c.Counts}
	for _, found := range all.Codes {
		if found.Accepted < found.Total && len(short.Worst) < worstRisks {
			short.Worst = append(short.Worst, riskGroup{RiskCode: found, Badge: severityMark(found.Severity), All: withValue(risksPath, nil, "code", found.Code)})
		}
	}
	return short
}

// count fills in the counts and the severities of the form.
func (c *risksContent) count(all *console.Risks, severity string) {
	c.Accepted = all.Accepted
	c.Severities = []option{{Word: "any", Selected: severity == ""}}
	for _, s := range severityMarks {
		c.Severities = append(c.Severities, option{s.severity, s.severity, s.severity == severity})
		if n := all.Severities[s.severity]; n > 0 {
			c.Counts = append(c.Counts, severityCount{s.mark, n, withValue(risksPath, nil, "severity", s.severity)})
		}
	}
}

func rowOfRisk(r *console.Risk) riskRow {
	row := riskRow{Risk: *r, Badge: severityMark(r.Severity), More: max(0, len(r.Subjects)-maxRiskSubjects)}
	for _, p := range r.Subjects[:len(r.Subjects)-row.More] {
		row.Subjects = append(row.Subjects, tab{Name: principalWords(p), Href: subjectHref(p)})
	}
	if len(r.Request) > 0 {
		row.Ask = askHref("access", r.Request)
	}
	return row
}
