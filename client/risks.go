package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
)

// RisksQuery selects dangerous grants. Empty fields select all.
type RisksQuery struct {
	Code     string // such as "risk-exec"
	Severity string // "low", "medium", "high" or "critical"
	// Subject is a part of the name of a subject, in any case.
	Subject string
	// Limit is the most risks of a page; zero means 50. After is Risks.After of the page
	// before.
	Limit int
	After string
}

// Risks is a page of dangerous grants: those that are not accepted and the most severe ones
// first.
type Risks struct {
	Risks []Risk `json:"risks"`
	// Total is the number of risks of all pages, Accepted how many of them are accepted.
	Total    int `json:"total"`
	Accepted int `json:"accepted"`
	// Codes count the risks of all pages by code, the most severe ones first.
	Codes []RiskCode `json:"codes"`
	// After is empty on the last page.
	After string `json:"after"`
	// Revision is the one that has the risks.
	Revision string `json:"revision"`
}

// RiskCode is a kind of risk.
type RiskCode struct {
	Code string `json:"code"`
	// Severity is that of the most severe risk which is not accepted, if there is one.
	Severity string `json:"severity"`
	// Can completes the sentence "the subjects can ..."; Text explains it, Remedy is what to do.
	Can    string `json:"can"`
	Text   string `json:"text"`
	Remedy string `json:"remedy"`
	// Total is the number of risks, Accepted how many of them are accepted.
	Total    int `json:"total"`
	Accepted int `json:"accepted"`
}

// Risk is a dangerous power that a binding grants.
type Risk struct {
	Code     string `json:"code"`
	Severity string `json:"severity"`
	// Sentence states who can do what, where and by which binding; Remedy what to do.
	Sentence string `json:"sentence"`
	Remedy   string `json:"remedy"`
	// Can, Where and Binding are parts of the sentence.
	Can     string `json:"can"`
	Where   string `json:"where"`
	Binding string `json:"binding"`
	// Subjects are "user:NAME" or "group:NAME".
	Subjects []string `json:"subjects"`
	// Source is FILE:LINE of the binding, RuleSource that of the rule of its role.
	Source     string `json:"source"`
	RuleSource string `json:"ruleSource"`
	// Request is an access request as JSON that the binding allows to the first subject;
	// empty if the documents are too many to find one.
	Request json.RawMessage `json:"request"`
	// Accepted is nil unless the documents accept the risk.
	Accepted *AcceptedRisk `json:"accepted"`
}

// AcceptedRisk is why a risk is accepted, and FILE:LINE of where.
type AcceptedRisk struct {
	Reason string `json:"reason"`
	Source string `json:"source"`
}

// Risks returns a page of the dangerous grants of the active revision, for auditors of a
// server with the web console. The server searches each revision once: while it does, the
// request is sent again, like one that failed.
func (c *Client) Risks(ctx context.Context, q RisksQuery) (*Risks, error) {
	values := url.Values{}
	for name, value := range map[string]string{"code": q.Code, "severity": q.Severity, "subject": q.Subject, "after": q.After} {
		if value != "" {
			values.Set(name, value)
		}
	}
	if q.Limit != 0 {
		values.Set("limit", strconv.Itoa(q.Limit))
	}
	r, err := answer[Risks](ctx, c, http.MethodGet, "/v1/risks?"+values.Encode(), nil)
	if err != nil {
		return nil, err
	}
	return &r, nil
}
