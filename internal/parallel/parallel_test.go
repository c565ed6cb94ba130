package parallel

import (
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	var first, second bool
	Run(func() { first = true }, func() { second = true })
	if !first || !second {
		t.Errorf("got %v, %v: both must have run", first, second)
	}
}

// The caller recovers from each of its functions, after all have ended.
func TestPanicIsThatOfTheCaller(t *testing.T) {
	for name, functions := range map[string][2]func(){
		"first":  {func() { panic("broken") }, func() {}},
		"second": {func() {}, func() { panic("broken") }},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if cause, _ := recover().(string); !strings.HasPrefix(cause, "broken") {
					t.Errorf("got %q", cause)
				}
			}()
			Run(functions[0], functions[1])
			t.Error("it has not panicked")
		})
	}
}
