package page

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"path"
	"strings"

	"github.com/writ-policy/writ/server/console"
	h "github.com/writ-policy/writ/server/console/page/html"
	"github.com/writ-policy/writ/server/console/page/piece"
)

// proposalPath is the view of documents that are compared with what is served.
const proposalPath = changesPath + "/proposal"

// proposalContent is a form of documents, and what they would change.
type proposalContent struct {
	Tabs []piece.Tab
	// Path and Text are the document of the form, Folder that of its files, and Removed are
	// paths, one on a line.
	Path, Text, Folder, Removed string
	Whole                       bool
	// Ref is a reference of the repository of Source, one of Repositories.
	Ref, Source  string
	Repositories []console.Repository
	Error        string
	Diagnostics  []piece.Diagnostic
	Diff         *difference
}

func (c *proposalContent) html() h.Node {
	then := "with these documents"
	then = cmp.Or(c.Ref, then)
	return h.Group{
		piece.Tabs("Changes", c.Tabs),
		piece.Div("stack",
			h.Iff(c.Diff != nil, func() h.Node {
				return piece.Card("Difference", h.H2(piece.Heading("Difference", "what is served, and then "+then)), c.Diff.html())
			}),
			h.If(c.Error != "" || len(c.Diagnostics) > 0, piece.Card("Mistakes", h.P(h.Class("error"), h.Role("alert"), h.Text(c.Error)), piece.Each(c.Diagnostics, (*piece.Diagnostic).HTML))),
			h.Form(h.Class("card rows"), h.Method("post"), h.Action(proposalPath), h.EncType("multipart/form-data"), h.Aria("label", "Documents"),
				c.reference(),
				field("path", "File", c.Path, false, "such as teams/shop/bindings.yaml; a file that is served is replaced as a whole"),
				piece.Div("field", h.Label(h.For("f-text"), h.Text("Text")), h.Textarea(h.ID("f-text"), h.Name("text"), h.Rows("14"), piece.Verbatim, h.Text(c.Text))),
				piece.Div("field half", h.Label(h.For("f-files"), h.Text("Or files")),
					h.Input(h.ID("f-files"), h.Type("file"), h.Name("files"), h.Multiple(), h.Accept(".yaml,.yml,.json,.rego"))),
				field("folder", "Their folder", c.Folder, true, "empty: the top"),
				piece.Div("field", h.Label(h.For("f-removed"), h.Text("Removed files")),
					h.Textarea(h.ID("f-removed"), h.Name("removed"), h.Rows("2"), piece.Verbatim, h.Aria("describedby", "h-removed"), h.Text(c.Removed)),
					h.Span(h.Class("hint"), h.ID("h-removed"), h.Text("one on a line"))),
				piece.Check("whole", "These are all documents", c.Whole),
				piece.P("line", piece.Submit("Compare")))),
	}
}

// reference are the fields of a git reference.
func (c *proposalContent) reference() h.Node {
	const hint = "a branch, a tag or a commit%s: its documents stand in place of those that are served"
	switch len(c.Repositories) {
	case 0:
		return piece.P("hint", h.Text("The documents that are served are not in a git repository: a branch cannot be compared, its files can."))
	case 1:
		return field("ref", "Git reference", c.Ref, false, fmt.Sprintf(hint, " of "+c.Repositories[0].Location))
	}
	options := make([]piece.Option, 0, len(c.Repositories))
	for _, r := range c.Repositories {
		options = append(options, piece.Option{Value: r.Source, Word: r.Location, Selected: r.Source == c.Source})
	}
	return h.Group{field("ref", "Git reference", c.Ref, true, fmt.Sprintf(hint, "")), piece.Select("field half", "source", "Of", options)}
}

// field is a field of the form with its hint.
func field(key, label, value string, isHalf bool, hint string) h.Node {
	return (&piece.Input{Key: key, Label: label, Value: value, Half: isHalf, Hint: hint}).HTML()
}

// changesTabs are the views of changes.
func changesTabs(current string) []piece.Tab {
	return []piece.Tab{
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
			d := piece.DiagnosticOf(&refused.Diagnostics[i])
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
