package elements_test

import (
	"slices"
	"strconv"
	"testing"

	"github.com/writ-policy/writ/internal/elements"
)

func TestMap(t *testing.T) {
	if got := elements.Map([]int{2, 1}, strconv.Itoa); !slices.Equal(got, []string{"2", "1"}) {
		t.Errorf("got %q", got)
	}
	if got := elements.Map([]int{}, strconv.Itoa); got != nil {
		t.Errorf("got %q of an empty list", got)
	}
}

func TestFilterLeavesItsList(t *testing.T) {
	list := []int{1, 2, 3, 4}
	isEven := func(n int) bool { return n%2 == 0 }
	if got := elements.Filter(list, isEven); !slices.Equal(got, []int{2, 4}) {
		t.Errorf("got %v", got)
	}
	if !slices.Equal(list, []int{1, 2, 3, 4}) {
		t.Errorf("the list became %v", list)
	}
	if got := elements.Filter(list[:1], isEven); got != nil {
		t.Errorf("got %v where none is even", got)
	}
}
