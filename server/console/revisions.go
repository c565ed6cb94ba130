package console

import (
	"time"

	"github.com/writ-policy/writ/analysis/diff"
)

// Diff is what two revisions decide differently.
type Diff struct {
	*diff.Report
	// Texts are the differences of the documents.
	Texts []TextDiff `json:"texts"`
}

// TextDiff is the difference of a file.
type TextDiff struct {
	File string `json:"file"`
	// Lines begin with a space, "+" or "-"; "@" stands for lines that are left out.
	Lines []string `json:"lines"`
}

// Proposal is a change of documents that is compared with what is served, and not served.
type Proposal struct {
	// Documents are files that are added, or that replace those of their path.
	Documents []ProposedFile `json:"documents"`
	// Removed are the paths of files that are left out.
	Removed []string `json:"removed,omitempty"`
	// Whole states that Documents are all files, whatever is served.
	Whole bool `json:"whole,omitempty"`
	// Ref is a branch, a tag or a commit of the repository of a source. The documents of the
	// source are then those of the reference, before the changes above. Source is
	// Repository.Source; it may be empty if there is one repository.
	Ref    string `json:"ref,omitempty"`
	Source string `json:"source,omitempty"`
}

// Repository is a source whose documents are in a git repository.
type Repository struct {
	// Source is the name of the source among several; empty for the only one.
	Source string `json:"source"`
	// Location is where the documents are, without credentials.
	Location string `json:"location"`
}

// ProposedFile is a file of a Proposal.
type ProposedFile struct {
	Path    string `json:"path"`
	Content string `json:"content"`
}

// Revisions are those that can be compared, newest first.
type Revisions struct {
	Revisions []Revision `json:"revisions"`
	Refused   []Refused  `json:"refused"`
	// Repositories are the sources whose references can be compared with what is served.
	Repositories []Repository `json:"repositories"`
	// Comparing states that summaries are being computed.
	Comparing bool `json:"comparing,omitempty"`
}

// Revision is a revision that is kept.
type Revision struct {
	Revision  string    `json:"revision"`
	Sequence  int64     `json:"sequence"`
	Commit    string    `json:"commit"`
	Since     time.Time `json:"since"`
	Documents int       `json:"documents"`
	// Commits are those of the sources that are repositories, as far as they are known: for
	// revisions of this process.
	Commits []Commit `json:"commits,omitempty"`
	// Summary counts classes of requests by how their decision differs from the revision
	// before; absent while it is not known.
	Summary map[string]int `json:"summary,omitempty"`
	// Active reports whether it is the active one.
	Active bool `json:"active"`
}

// Commit is a commit of a source of documents.
type Commit struct {
	// Source is the name of the source among several; empty for the only one.
	Source string    `json:"source,omitempty"`
	Commit string    `json:"commit"`
	Author string    `json:"author"`
	Date   time.Time `json:"date"`
	// Message is the first line of the message.
	Message string `json:"message"`
}

// Refused is an attempt to reload that was refused.
type Refused struct {
	Time    time.Time `json:"time"`
	Errors  int       `json:"errors"`
	Message string    `json:"message"`
}
