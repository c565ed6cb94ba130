package jsontext

import "fmt"

// Code classifies what Check rejects.
type Code uint8

// The codes. Their comments say where Error.Offset points.
const (
	// Empty: the text has no value; its end.
	Empty Code = iota
	// ExpectedValue: the character, or the end of the text.
	ExpectedValue
	// ExpectedKey: the character, or the end of the text.
	ExpectedKey
	// ExpectedColon: the character, or the end of the text.
	ExpectedColon
	// ExpectedBrace: the character where "," or "}" must be, or the end of the text.
	ExpectedBrace
	// ExpectedBracket: the character where "," or "]" must be, or the end of the text.
	ExpectedBracket
	// ExpectedDigit: the character, or the end of the text.
	ExpectedDigit
	// TrailingText: the first character after the value.
	TrailingText
	// UnclosedString: the end of the text, or a backslash that is its last character.
	UnclosedString
	// ControlCharacter: a character below U+0020 in a string.
	ControlCharacter
	// InvalidEscape: the character after the backslash.
	InvalidEscape
	// invalidUnicodeEscape: the backslash of a \u without four hexadecimal digits.
	invalidUnicodeEscape
	// LoneSurrogate: the backslash of half a surrogate pair.
	LoneSurrogate
	// InvalidUTF8: the byte.
	InvalidUTF8
	// TooDeep: the brace or bracket that exceeds Limits.Depth.
	TooDeep
	// NumberTooLong: the start of a number of more than MaxNumber characters.
	NumberTooLong
	// ExponentTooLong: the start of a number whose exponent has more than
	// MaxExponent digits.
	ExponentTooLong
	// TooManyValues: the start of the value that exceeds Limits.Values.
	TooManyValues
	// DuplicateKey: the first quote of the second one; Error.Key is the key.
	DuplicateKey
)

var messages = [...]string{
	Empty:                "no value",
	ExpectedValue:        "a value is expected",
	ExpectedKey:          "a key in double quotes is expected",
	ExpectedColon:        `":" is expected`,
	ExpectedBrace:        `"," or "}" is expected`,
	ExpectedBracket:      `"," or "]" is expected`,
	ExpectedDigit:        "a digit is expected",
	TrailingText:         "text after the value",
	UnclosedString:       "the string is not closed",
	ControlCharacter:     "a control character in a string must be escaped",
	InvalidEscape:        "invalid escape sequence",
	invalidUnicodeEscape: `\u is not followed by four hexadecimal digits`,
	LoneSurrogate:        "half of a surrogate pair",
	InvalidUTF8:          "invalid UTF-8",
	TooDeep:              "nested too deep",
	NumberTooLong:        "the number is too long",
	TooManyValues:        "too many values",
	ExponentTooLong:      "the exponent is too long",
}

// Error is the first mistake in a text.
type Error struct {
	Code   Code
	Offset int    // in bytes, from 0
	Key    string // of DuplicateKey; else empty
}

// Message describes the mistake without its place.
func (e *Error) Message() string {
	if e.Code == DuplicateKey {
		return fmt.Sprintf("duplicate key %q", e.Key)
	}
	return messages[e.Code]
}

// Error describes the mistake and its offset.
func (e *Error) Error() string {
	return fmt.Sprintf("invalid JSON at byte %d: %s", e.Offset, e.Message())
}
