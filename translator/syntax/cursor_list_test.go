package syntax

import (
	"slices"
	"testing"
	"unsafe"
)

// Equal lists are one, and lists with the same text in other entries are not.
func TestSharedLists(t *testing.T) {
	nodes := func(values ...string) (list []*Node) {
		for _, v := range values {
			list = append(list, &Node{Value: v})
		}
		return list
	}
	var s Shared
	first, second := s.values(nodes("get", "list")), s.values(nodes("get", "list"))
	if unsafe.SliceData(first) != unsafe.SliceData(second) || !slices.Equal(second, []string{"get", "list"}) {
		t.Errorf("got %q and %q, want one list", first, second)
	}
	for _, values := range [][]string{{"getlist"}, {"ge", "tlist"}, {"get", "list", ""}, {"get"}, {"", "get", "list"}, {"\x03get\x04list"}} {
		if got := s.values(nodes(values...)); !slices.Equal(got, values) {
			t.Errorf("got %q, want %q", got, values)
		}
	}
	if got := s.values(nil); got != nil {
		t.Errorf("got %q of no nodes, want nil", got)
	}
	for i := range 2 * mostShared {
		s.values(nodes(string(rune('a' + i))))
	}
	if len(s.lists) > mostShared {
		t.Errorf("got %d lists, want at most %d", len(s.lists), mostShared)
	}
}
