package source

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/translator/diag"
)

// uniqueNames returns a name for each location, which distinguishes it from the others: a
// relative path, else the end of the path, of as many segments as necessary. A cluster has the name "kube:" unless
// there are several. The name of an only location is empty.
func uniqueNames(locations []Location) ([]string, error) {
	names := make([]string, len(locations))
	if len(locations) == 1 {
		return names, nil
	}
	several := len(slices.DeleteFunc(slices.Clone(locations), func(l Location) bool { return l.Kube == nil })) > 1
	segments := make([][]string, len(locations))
	for i, l := range locations {
		switch {
		case l.Kube != nil && several:
			names[i] = l.String()
		case l.Kube != nil:
			names[i] = diag.ObjectPrefix
		default:
			var err error
			if segments[i], err = l.segments(); err != nil {
				return nil, err
			}
		}
	}
	if err := extend(names, segments); err != nil {
		return nil, fmt.Errorf("the sources %s: %w", join(locations), err)
	}
	for i := range names {
		names[i] = printable(names[i])
	}
	return names, nil
}

// extend sets the names that are empty to the last segments, to one more for names that
// are equal, until all are different.
func extend(names []string, segments [][]string) error {
	used := make([]int, len(names))
	for {
		first := make(map[string]int)
		clash := make(map[int]bool)
		for i := range names {
			if segments[i] != nil {
				used[i] = max(used[i], 1)
				names[i] = strings.Join(segments[i][len(segments[i])-used[i]:], "/")
			}
			if other, found := first[names[i]]; found {
				clash[i], clash[other] = true, true
			} else {
				first[names[i]] = i
			}
		}
		if len(clash) == 0 {
			return nil
		}
		longer := false
		for i := range clash {
			if used[i] < len(segments[i]) {
				used[i]++
				longer = true
			}
		}
		if !longer {
			return errSameLocation
		}
	}
}

// segments are the parts of the path of a directory, or of the URL of a repository. A
// relative path is one part: it leads to the file, and is the same on each machine.
func (l Location) segments() ([]string, error) {
	if l.Git != nil {
		_, rest, _ := strings.Cut(l.Git.URL, "://")
		return cutPath(strings.TrimSuffix(rest, ".git") + "/" + l.Git.Subdir), nil
	}
	if clean := filepath.Clean(l.Dir); filepath.IsLocal(clean) && clean != "." {
		return []string{filepath.ToSlash(clean)}, nil
	}
	absolute, err := filepath.Abs(l.Dir)
	if err != nil {
		return nil, fmt.Errorf("read the policy directory: %w", TrimPath(err))
	}
	return cutPath(filepath.ToSlash(absolute)), nil
}

// cutPath returns the segments of a path, at least one.
func cutPath(path string) []string {
	parts := strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
	if len(parts) == 0 {
		return []string{"root"}
	}
	return parts
}

func join(locations []Location) string {
	texts := elements.Map(locations, Location.String)
	return strings.Join(texts, ", ")
}
