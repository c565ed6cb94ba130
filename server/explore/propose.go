package explore

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/writ-policy/writ/server/view"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/settings"
	"github.com/writ-policy/writ/translator/source"
)

// Propose implements view.Viewer.
func (v *viewer) Propose(ctx context.Context, c view.Caller, p *view.Proposal) (*view.Diff, error) {
	switch {
	case !c.SeesAll:
		return nil, view.ErrForbidden
	case v.x.o.Try == nil:
		return nil, view.Errorf(view.NotReady, "this server does not compare documents that it does not serve")
	case v.policies.Revision() == "":
		return nil, view.Errorf(view.NotReady, "no revision is active")
	}
	v.x.mu.Lock()
	read := v.revision.read
	v.x.mu.Unlock()
	if read == nil {
		if !p.Whole {
			return nil, &view.Error{Reason: view.Invalid, Field: "whole", Message: "the texts of the served documents are not known here, as they are not for a bundle or after a rollback: send all documents, with \"whole\": true"}
		}
		read = new(source.Snapshot)
	}
	snapshot, err := proposed(read, p)
	if err != nil {
		return nil, err
	}
	trial, err := v.x.o.Try(ctx, snapshot)
	switch {
	case ctx.Err() != nil:
		return nil, view.Errorf(view.Busy, "the comparison took too long")
	case trial.Diagnostics.HasErrors():
		errors, _ := trial.Diagnostics.Count()
		found := trial.Diagnostics[:min(len(trial.Diagnostics), maxDiagnostics)]
		files := shownFiles(snapshot.Files, trial.Documents, trial.Diagnostics)
		return nil, &view.Error{
			Reason: view.Mistaken, Message: "the documents have " + diag.Counted(errors, "error") + ": nothing is compared",
			Diagnostics: shownDiagnostics(found, files),
		}
	case err != nil:
		return nil, view.Errorf(view.Internal, "the documents cannot be tried: %v", err)
	}
	return v.x.diffOf(ctx, [2]compared{
		{v.policies, v.revision.texts.all(), v.revision.id[:12]},
		{trial.Policies, shownFiles(snapshot.Files, trial.Documents, trial.Diagnostics), "proposal"},
	})
}

// proposed returns a snapshot after a change.
func proposed(read *source.Snapshot, p *view.Proposal) (source.Snapshot, error) {
	files := make(map[string]source.File)
	if !p.Whole {
		for _, f := range read.Files {
			files[f.Path] = f
		}
	}
	for i, name := range p.Removed {
		if _, ok := files[name]; !ok {
			return source.Snapshot{}, unfit(fmt.Sprintf("removed[%d]", i), fmt.Sprintf("file %q is not served", name))
		}
		delete(files, name)
	}
	seen := make(map[string]bool)
	for i, d := range p.Documents {
		field := fmt.Sprintf("documents[%d].path", i)
		switch {
		case !fs.ValidPath(d.Path) || !source.IsPrintable(d.Path):
			return source.Snapshot{}, unfit(field, "must be a relative path with slashes, such as \"team/roles.yaml\"")
		case path.Base(d.Path) == settings.Path:
			return source.Snapshot{}, unfit(field, settings.Path+" is not a document: its settings are those of the server")
		case !source.IsDocument(d.Path):
			return source.Snapshot{}, unfit(field, "must end in .yaml, .yml, .json or .rego")
		case seen[d.Path]:
			return source.Snapshot{}, unfit(field, fmt.Sprintf("file %q is listed twice", d.Path))
		}
		seen[d.Path] = true
		files[d.Path] = source.File{Path: d.Path, Content: []byte(d.Content), Hash: sha256.Sum256([]byte(d.Content)), Origin: originOf(read.Origins, d.Path)}
	}
	out := *read
	out.Files = make([]source.File, 0, len(files))
	for _, f := range files {
		out.Files = append(out.Files, f)
	}
	slices.SortFunc(out.Files, func(a, b source.File) int { return strings.Compare(a.Path, b.Path) })
	return out, nil
}

// originOf returns the source of a file: that whose name begins its path, or the only one.
func originOf(origins []source.Origin, name string) int {
	at := slices.IndexFunc(origins, func(o source.Origin) bool { return o.Name != "" && strings.HasPrefix(name, o.Name+"/") })
	return max(at, 0)
}

// unfit refuses a part of a proposal.
func unfit(field, message string) *view.Error {
	return &view.Error{Reason: view.Invalid, Field: field, Message: field + ": " + message}
}
