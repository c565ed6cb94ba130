package console

import "encoding/json"

// RisksQuery asks for dangerous grants. Empty fields select all.
type RisksQuery struct {
	Code     string
	Severity string // low, medium, high or critical
	// Subject is a part of the name of a subject, in any case.
	Subject string
	// Limit is the most risks; zero means 50. After is Risks.After of the page before.
	Limit int
	After string
}

// Risks are the dangerous grants of a revision, those that are not accepted and the most
// severe ones first.
type Risks struct {
	Risks []Risk `json:"risks"`
	// Total is the number of risks of all pages, and Accepted how many of them are accepted.
	Total    int `json:"total"`
	Accepted int `json:"accepted"`
	// Severities counts the risks of the whole revision that are not accepted.
	Severities map[string]int `json:"severities"`
	// Codes count the risks of all pages by code, the most severe ones first.
	Codes    []RiskCode `json:"codes"`
	After    string     `json:"after,omitempty"`
	Revision string     `json:"revision"`
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
	// Source is FILE:LINE of the binding, and RuleSource that of the rule of its role.
	Source     string `json:"source"`
	RuleSource string `json:"ruleSource"`
	// Request is one that the binding allows to the first subject; absent if the documents
	// are too many to find one.
	Request json.RawMessage `json:"request,omitempty"`
	// Accepted is why the risk is accepted; nil if it is not.
	Accepted *Accepted `json:"accepted,omitempty"`
}

// Accepted is why a risk is accepted, and FILE:LINE of where.
type Accepted struct {
	Reason string `json:"reason"`
	Source string `json:"source"`
}
