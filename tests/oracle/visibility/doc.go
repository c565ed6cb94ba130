// Package visibility decides what a principal may see at the point visibility.
// Section numbers in comments are those of the family's specification.
//
// A Number records how exact an answer must be: quotients, and sums of fractions,
// are rounded to binary.
package visibility
