//! ghyll
