package visibility

import (
	"encoding/json"
	"fmt"
	"math/big"
	"reflect"
	"regexp"
	"strconv"
	"strings"
)

// Number is a number that was computed, exactly. About states that an
// endpoint may round it.
type Number struct {
	*big.Rat
	About bool
}

// MarshalJSON writes an exact number in plain decimal.
func (n Number) MarshalJSON() ([]byte, error) {
	if n.About {
		return new(big.Float).SetRat(n.Rat).Append(nil, 'g', 17), nil
	}
	return []byte(decimal(n.Rat)), nil
}

// exactSums is below what a sum of whole numbers is exact everywhere.
var exactSums = big.NewRat(1<<62, 1)

// summed is a sum, which binary fractions give only about.
func summed(numbers []*big.Rat) Number {
	sum := Number{Rat: new(big.Rat)}
	for _, n := range numbers {
		sum.Add(sum.Rat, n)
		sum.About = sum.About || !n.IsInt() || new(big.Rat).Abs(n).Cmp(exactSums) > 0
	}
	sum.About = sum.About || new(big.Rat).Abs(sum.Rat).Cmp(exactSums) > 0
	return sum
}

func integer(n int) Number { return Number{Rat: big.NewRat(int64(n), 1)} }

// numberOf is a value that is a JSON number.
func numberOf(value any) (*big.Rat, bool) {
	n, ok := value.(json.Number)
	if !ok {
		return nil, false
	}
	return numeric(n.String())
}

// numericText is what a text must be to be compared as a number; the numbers that
// a request may hold are among it.
var numericText = regexp.MustCompile(`^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?$`)

func numeric(text string) (*big.Rat, bool) {
	if len(text) > 128 || !numericText.MatchString(text) {
		return nil, false
	}
	return new(big.Rat).SetString(text)
}

// decimal is a number that came from JSON, in plain decimal.
func decimal(r *big.Rat) string {
	digits := 0
	for ten, scaled := big.NewRat(10, 1), new(big.Rat).Set(r); !scaled.IsInt(); digits++ {
		scaled.Mul(scaled, ten)
	}
	return r.FloatString(digits)
}

// textOf is the text form of section 8; null and missing are empty.
func textOf(value any) (text string, ok bool) {
	switch v := value.(type) {
	case nil:
		return "", true
	case string:
		return v, true
	case bool:
		return strconv.FormatBool(v), true
	case json.Number:
		r, _ := numberOf(v)
		return decimal(r), true
	}
	return "", false
}

// same reports whether two JSON values are equal, numbers by what they are worth.
func same(a, b any) bool { return reflect.DeepEqual(canonical(a), canonical(b)) }

func canonical(value any) any {
	switch v := value.(type) {
	case json.Number:
		r, _ := numberOf(v)
		return fmt.Sprintf("number %s", r)
	case string:
		return "text " + v
	case []any:
		list := []any{}
		for _, item := range v {
			list = append(list, canonical(item))
		}
		return list
	case map[string]any:
		object := map[string]any{}
		for key, item := range v {
			object[key] = canonical(item)
		}
		return object
	}
	return value
}

// passes reports whether a value passes the filter of an aggregation.
func (f *AggregationFilter) passes(value any) bool {
	text, ok := textOf(value)
	if !ok || value == nil {
		return false
	}
	n, number := numberOf(value)
	other, otherNumber := numeric(f.Value)
	if text, ok := value.(string); ok {
		n, number = numeric(text)
	}
	switch f.Operator {
	case "equals", "notEquals":
		equal := text == f.Value
		if _, ok := value.(json.Number); ok {
			equal = otherNumber && n.Cmp(other) == 0
		}
		return equal == (f.Operator == "equals")
	case "contains":
		return strings.Contains(text, f.Value)
	case "startsWith":
		return strings.HasPrefix(text, f.Value)
	case "endsWith":
		return strings.HasSuffix(text, f.Value)
	case "greaterThan":
		return number && otherNumber && n.Cmp(other) > 0
	case "lessThan":
		return number && otherNumber && n.Cmp(other) < 0
	case "matches":
		return regexp.MustCompile(f.Value).MatchString(text)
	case "in":
		list := strings.TrimSpace(f.Value)
		if strings.HasPrefix(list, "[") && strings.HasSuffix(list, "]") {
			list = list[1 : len(list)-1]
		}
		for item := range strings.SplitSeq(list, ",") {
			if strings.TrimSpace(item) == text {
				return true
			}
		}
	}
	return false
}
