package client

import (
	"context"
	"encoding/json"
	"net/http"
)

// Proposal is a change of the documents that a server serves.
type Proposal struct {
	// Documents are files that are added, or that replace those of their path.
	Documents []File `json:"documents"`
	// Removed are the paths of files that are left out.
	Removed []string `json:"removed,omitempty"`
	// Whole states that Documents are all files, whatever is served. A server of bundles
	// compares such proposals alone.
	Whole bool `json:"whole,omitempty"`
	// Ref is a branch, a tag or a commit of the git repository that the server serves: its
	// documents stand in place of those that are served, before the changes above. Source is
	// the name of one of several sources.
	Ref    string `json:"ref,omitempty"`
	Source string `json:"source,omitempty"`
}

// File is a file of documents.
type File struct {
	// Path is that which the server knows the file by, with slashes: "shop/roles.yaml".
	Path    string `json:"path"`
	Content string `json:"content"`
}

// Diff is what a Proposal decides differently from what is served.
type Diff struct {
	// Equivalent reports that no request is decided differently.
	Equivalent bool `json:"equivalent"`
	// Summary counts classes of requests by their change: gain, relax, loss, tighten, other.
	Summary map[string]int `json:"summary"`
	// Groups are the changes, the most dangerous one first.
	Groups []ChangeGroup `json:"groups"`
	// Report is the whole answer, as docs/change.md describes it.
	Report json.RawMessage `json:"-"`
}

// ChangeGroup is what documents of a Proposal change in one way.
type ChangeGroup struct {
	Change string `json:"change"`
	// Summary is one sentence on who gets or loses what, and Dangers are the dangerous
	// abilities in it.
	Summary string   `json:"summary"`
	Dangers []string `json:"dangers"`
}

// Diff compares what the server serves with the documents after a change. The server stores
// nothing. The caller must be an auditor. An *Error with the status 422 has the Diagnostics
// of documents with errors. A comparison takes as long as a reload: set Options.Timeout.
func (c *Client) Diff(ctx context.Context, p *Proposal) (d Diff, err error) {
	if d.Report, err = answer[json.RawMessage](ctx, c, http.MethodPost, "/v1/diff", p); err != nil {
		return Diff{}, err
	}
	if err := json.Unmarshal(d.Report, &d); err != nil {
		return Diff{}, err
	}
	return d, nil
}
