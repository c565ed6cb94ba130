package projection

import (
	"slices"
	"strings"
	"testing"

	"github.com/writ-policy/writ/translator/footprint"
)

// Values that are too long to be compared with patterns are in the key as they are.
func TestLongValuesAreKept(t *testing.T) {
	v := valuesOf(footprint.Attribute{Patterns: []string{"*-prod-*", "a?c"}})
	long := strings.Repeat("x", maxCompared+1)
	if got, want := v.append(nil, long), appendText(nil, long); !slices.Equal(got, want) {
		t.Errorf("got a key of %d bytes, want the value", len(got))
	}
	if short := v.append(nil, long[1:]); len(short) > 8 {
		t.Errorf("got a key of %d bytes, want the patterns that match", len(short))
	}
}
