package page

import (
	"context"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"path"
	"strings"

	"github.com/writ-policy/writ/server/console"
)

// proposalPath is the view of documents that are compared with what is served.
const proposalPath = changesPath + "/proposal"

// proposalContent is a form of documents, and what they would change.
type proposalContent struct {
	Tabs []tab
	// Path and Text are the document of the form, Folder that of its files, and Removed are
	// paths, one on a line.
	Path, Text, Folder, Removed string
	Whole                       bool
	// Ref is a reference of the repository of Source, one of Repositories.
	Ref, Source  string
	Repositories []console.Repository
	Error        string
	Diagnostics  []diagnostic
	Diff         *difference
}

// changesTabs are the views of changes.
func changesTabs(current string) []tab {
	return []tab{
		{Name: "Served", Href: changesPath, Current: current == changesPath},
		{Name: "Before a merge", Href: proposalPath, Current: current == proposalPath},
	}
}

func proposalFrame(q *question, c *proposalContent) (frame, error) {
	revisions, err := q.Revisions(q.caller)
	if err != nil {
		return frame{}, err
	}
	c.Tabs, c.Repositories = changesTabs(proposalPath), revisions.Repositories
	return frame{Title: "Before a merge", Lead: "What documents would change that are not served. Nothing is stored.", Content: c}, nil
}

// proposal is the empty form.
func proposal(_ context.Context, q *question) (frame, error) {
	return proposalFrame(q, &proposalContent{Path: q.value("path"), Ref: q.value("ref"), Source: q.value("source")})
}

// propose compares the documents of the form with those that are served.
func propose(ctx context.Context, q *question) (frame, error) {
	c := &proposalContent{Path: posted(q, "path"), Text: posted(q, "text"), Folder: posted(q, "folder"), Removed: posted(q, "removed"), Whole: posted(q, "whole") != "", Ref: posted(q, "ref"), Source: posted(q, "source")}
	shown, err := proposalFrame(q, c)
	if err != nil {
		return frame{}, err
	}
	asked, err := c.read(q.posted.File["files"])
	if err != nil {
		return frame{}, err
	}
	if len(asked.Documents)+len(asked.Removed) == 0 && c.Ref == "" {
		c.Error, shown.Status = "Paste a document, choose files, name a file to remove or a git reference.", http.StatusBadRequest
		return shown, nil
	}
	diff, err := q.Propose(ctx, q.caller, asked)
	var refused *console.Error
	switch {
	case errors.As(err, &refused) && refused.Reason == console.Mistaken:
		c.Error, shown.Status = sentence(refused.Message), http.StatusUnprocessableEntity
		for i := range refused.Diagnostics {
			d := diagnosticOf(&refused.Diagnostics[i])
			d.Href, d.Related = "", nil // places of documents that are not served
			c.Diagnostics = append(c.Diagnostics, d)
		}
	case isReason(err, console.Invalid):
		c.Error, shown.Status = sentence(refused.Message), http.StatusBadRequest
	case c.Ref != "" && isReason(err, console.Busy):
		c.Error, shown.Status = sentence(refused.Message), http.StatusServiceUnavailable
	case err != nil:
		return frame{}, err
	default:
		c.Diff = differenceOf(diff)
		for _, rows := range [][]differenceRow{c.Diff.Rows, c.Diff.Folded} {
			for i := range rows {
				for j := range rows[i].Causes {
					rows[i].Causes[j].Plain = true
				}
			}
		}
	}
	return shown, nil
}

// posted is a value of the form of a POST, without blanks around it.
func posted(q *question, name string) string {
	if values := q.posted.Value[name]; len(values) > 0 {
		return strings.TrimSpace(values[0])
	}
	return ""
}

// read returns the proposal of the form.
func (c *proposalContent) read(files []*multipart.FileHeader) (*console.Proposal, error) {
	p := &console.Proposal{Whole: c.Whole, Ref: c.Ref}
	if p.Ref != "" {
		p.Source = c.Source
	}
	if c.Text != "" {
		p.Documents = append(p.Documents, console.ProposedFile{Path: c.Path, Content: c.Text + "\n"})
	}
	for _, file := range files {
		content, err := contentOf(file)
		if err != nil {
			return nil, err
		}
		p.Documents = append(p.Documents, console.ProposedFile{Path: path.Join(c.Folder, file.Filename), Content: content})
	}
	for line := range strings.Lines(c.Removed) {
		if name := strings.TrimSpace(line); name != "" {
			p.Removed = append(p.Removed, name)
		}
	}
	return p, nil
}

func contentOf(file *multipart.FileHeader) (string, error) {
	f, err := file.Open()
	if err != nil {
		return "", err
	}
	defer f.Close()
	content, err := io.ReadAll(f)
	return string(content), err
}
