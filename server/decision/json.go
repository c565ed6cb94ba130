package decision

import (
	"errors"
	"strconv"

	"github.com/writ-policy/writ/internal/jsontext"
)

// Value is one JSON value of a body that Parse accepted. The zero Value is absent
// and reads as null.
type Value = jsontext.Value

// Document holds a body and its values.
type Document = jsontext.Document

// Parse checks that data is one JSON value that has the same meaning to every reader:
// no key twice in an object, valid UTF-8, no half of a surrogate pair, nothing after
// the value, not nested deeper than jsontext.MaxDepth. The error is an
// *InvalidRequest. Parse copies data once, and everything read from the Value refers
// to that copy.
func Parse(data []byte) (Value, error) {
	v, _, err := ParseInto(new(Document), string(data), 0)
	return v, err
}

// ErrTooManyValues is the error of ParseInto for a body with more values than its limit.
var ErrTooManyValues = errors.New("too many values")

// ParseInto is Parse into a document for a body of at most limit values, and returns their
// number. Zero or less is unlimited. The error is ErrTooManyValues or an *InvalidRequest.
func ParseInto(d *Document, body string, limit int) (Value, int, error) {
	v, values, err := d.Parse(body, jsontext.Limits{Values: limit})
	switch {
	case err == nil:
		return v, values, nil
	case err.Code == jsontext.TooManyValues:
		return v, 0, ErrTooManyValues
	}
	return v, 0, invalidJSON(err, len(body))
}

// invalidJSON describes what jsontext rejects in a body of length bytes.
func invalidJSON(err *jsontext.Error, length int) *InvalidRequest {
	switch err.Code {
	case jsontext.Empty:
		return invalid("", "the body is empty")
	case jsontext.TrailingText:
		return invalid("", "the body goes on after its JSON value, at byte %d", err.Offset)
	case jsontext.TooDeep:
		return invalid("", "the body nests deeper than %d levels", jsontext.MaxDepth)
	case jsontext.DuplicateKey:
		return invalid(err.Key, "key %s occurs twice in one object", quoteKey(err.Key))
	case jsontext.ExponentTooLong:
		return invalid("", "a number's exponent has more than %d digits, at byte %d", jsontext.MaxExponent, err.Offset)
	case jsontext.NumberTooLong:
		return invalid("", "a number has more than %d characters, at byte %d", jsontext.MaxNumber, err.Offset)
	case jsontext.ControlCharacter:
		return invalid("", "a string holds a control character that is not escaped, at byte %d", err.Offset)
	case jsontext.InvalidUTF8:
		return invalid("", "the body is not UTF-8, at byte %d", err.Offset)
	case jsontext.LoneSurrogate:
		return invalid("", "a string holds a lone surrogate, at byte %d", err.Offset)
	case jsontext.UnclosedString:
		return invalid("", "the body is not JSON: it ends too early")
	default: // the message below
	}
	if err.Offset >= length {
		return invalid("", "the body is not JSON: it ends too early")
	}
	return invalid("", "the body is not JSON, at byte %d", err.Offset)
}

// PlainText returns a string, the word of a boolean, and "" for null. It returns false for
// other values: each point has its own text of numbers.
func PlainText(value any) (string, bool) {
	switch v := value.(type) {
	case nil:
		return "", true
	case string:
		return v, true
	case bool:
		return strconv.FormatBool(v), true
	}
	return "", false
}
