//! The judgement every ghyll host shares.
