package shrink

import (
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/dates"
	"github.com/writ-policy/writ/translator/directory"
	"github.com/writ-policy/writ/translator/tables"
)

// The parts of documents that Options.Only selects.
const (
	OnlyRules     = "rules"
	OnlySubjects  = "subjects"
	OnlyBindings  = "bindings"
	OnlyEntries   = "entries"
	OnlyWildcards = "wildcards"
)

// Options say what may be changed.
type Options struct {
	// Keep are patterns of documents, KIND/[NAMESPACE/]NAME, or of files that stay.
	Keep []tables.PathGlob
	// KeepSubjects and BreakGlass are principals.
	KeepSubjects, BreakGlass []string
	// Earlier, if not nil, is the directory at an earlier time: what it lacks stays.
	Earlier *directory.Directory
	// Now, unless it is zero, is when bindings must have begun: others stay, as no log shows their
	// use.
	Now dates.Instant
	// Only selects what is changed; empty stands for everything.
	Only []string
	// NoSplit makes no rule several ones.
	NoSplit bool
	// SplitRoles makes a copy of a role for each binding that needs less of it than others.
	SplitRoles bool
}

func (o *Options) does(what string) bool { return len(o.Only) == 0 || slices.Contains(o.Only, what) }

// isKept reports whether a pattern fits a document or its file.
func (o *Options) isKept(d *document) bool {
	bare := d.header.Kind + "/" + d.header.Name
	name := bare
	if d.header.Namespace != "" {
		name = strings.Join([]string{d.header.Kind, d.header.Namespace, d.header.Name}, "/")
	}
	return slices.ContainsFunc(o.Keep, func(g tables.PathGlob) bool {
		return g.Match(name) || g.Match(bare) || g.Match(d.header.At.File)
	})
}
